SELECT FROM modules m
WHERE m.tenant = $1
    AND m.name = $2
    AND m.deployed
