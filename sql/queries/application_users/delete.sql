-- The service user of a microservice in a tenant.
DELETE FROM users
WHERE tenant = $1
    AND application = $2
    AND duty = 'SERVICE'
RETURNING tenant, name
