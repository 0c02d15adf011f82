-- Returns the service users of a microservice, one in each tenant that subscribes to it.
SELECT u.tenant, u.name, u.sealed_password
FROM users u
WHERE u.application = $1
    AND u.duty = 'SERVICE'
    -- After the previous page; empty if the page number determines the start.
    AND u.tenant COLLATE "C" > $2
-- The same order for every locale of the database.
ORDER BY u.tenant COLLATE "C"
LIMIT $3
OFFSET $4
