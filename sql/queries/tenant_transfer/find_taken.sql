-- Returns the tenant that has an id ($1) or a domain ($2), if there is one.
SELECT id
FROM tenants
WHERE id = $1
    OR domain = $2
ORDER BY id <> $1
LIMIT 1
