-- Others who would change or delete the user wait until this transaction ends; memberships may still be added.
-- Whether a microservice acts as it.
SELECT application IS NOT NULL
FROM users
WHERE tenant = $1
    AND name = $2
FOR NO KEY UPDATE
