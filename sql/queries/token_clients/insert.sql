-- For a user of the tenant, but for none of a microservice.
INSERT INTO token_clients (tenant, id, name, user_name, scope, secret_hash, created_at)
SELECT u.tenant, $2, $3, u.name, $5, $6, now()
FROM users u
WHERE u.tenant = $1
    AND u.name = $4
    AND u.application IS NULL
-- Not deleted while its client is entered.
FOR KEY SHARE OF u
RETURNING tenant, id, name, user_name, scope, created_at
