SELECT value
FROM options
WHERE tenant = $1
    AND category = $2
    AND key = $3
