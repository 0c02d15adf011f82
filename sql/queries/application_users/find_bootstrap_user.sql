-- Returns the bootstrap user of a microservice.
SELECT u.tenant, u.name, u.sealed_password
FROM users u
WHERE u.application = $1
    AND u.duty = 'BOOTSTRAP'
