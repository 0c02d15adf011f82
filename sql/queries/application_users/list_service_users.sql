-- The users that a microservice works as, one in each tenant that subscribes to it.
SELECT u.tenant, u.name, u.sealed_password
FROM users u
WHERE u.application = $1
    AND u.duty = 'SERVICE'
    -- Behind the page before; empty where the number of the page says where it begins.
    AND u.tenant COLLATE "C" > $2
-- The same order whatever the locale of the database.
ORDER BY u.tenant COLLATE "C"
LIMIT $3
OFFSET $4
