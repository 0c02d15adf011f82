-- Inserts a client for a user of the tenant, but not for a user of a microservice.
INSERT INTO token_clients (tenant, id, name, user_name, scope, secret_hash, created_at)
SELECT u.tenant, $2, $3, u.name, $5, $6, now()
FROM users u
WHERE u.tenant = $1
    AND u.name = $4
    AND u.application IS NULL
-- The lock keeps the user from being deleted meanwhile.
FOR KEY SHARE OF u
RETURNING tenant, id, name, user_name, scope, created_at
