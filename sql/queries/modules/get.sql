SELECT m.id, m.name, m.deployed, m.last_modified, m.switched_off, m.warnings
FROM modules m
WHERE m.tenant = $1
    AND m.id = $2
