SELECT m.id, m.name, m.deployed, m.last_modified
FROM modules m
WHERE m.tenant = $1
    AND m.id = $2
