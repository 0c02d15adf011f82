-- The user that a microservice learns its subscribers as.
SELECT u.tenant, u.name, u.sealed_password
FROM users u
WHERE u.application = $1
    AND u.duty = 'BOOTSTRAP'
