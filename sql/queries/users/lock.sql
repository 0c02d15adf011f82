-- Locks a user against changes and deletion until the transaction ends; memberships may still be added. Returns whether
-- a microservice uses it.
SELECT application IS NOT NULL
FROM users
WHERE tenant = $1
    AND name = $2
FOR NO KEY UPDATE
