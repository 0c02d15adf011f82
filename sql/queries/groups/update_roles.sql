UPDATE groups
SET roles = $3
WHERE tenant = $1
    AND id = $2
