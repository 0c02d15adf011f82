SELECT g.id
FROM groups g
WHERE g.tenant = $1
    AND g.name = $2
