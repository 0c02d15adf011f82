UPDATE users
SET roles = $3
WHERE tenant = $1
    AND name = $2
