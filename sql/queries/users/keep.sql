-- Locks a user against deletion until the transaction ends.
SELECT name
FROM users
WHERE tenant = $1
    AND name = $2
FOR KEY SHARE
