-- Removes the owner of users whose owner was a deleted user of a microservice. Otherwise a later user with the same
-- name would own them.
UPDATE users u
SET owner = NULL
FROM unnest($1::text[], $2::text[]) AS gone (tenant, name)
WHERE u.tenant = gone.tenant
    AND u.owner = gone.name
