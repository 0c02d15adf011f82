-- Deletes the service user of a microservice in a tenant.
DELETE FROM users
WHERE application = $2
    AND duty = 'SERVICE'
    -- In the collation of the unique index.
    AND tenant COLLATE "C" = $1
RETURNING tenant, name
