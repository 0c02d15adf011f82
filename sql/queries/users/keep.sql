-- The user stays until this transaction ends.
SELECT name
FROM users
WHERE tenant = $1
    AND name = $2
FOR KEY SHARE
