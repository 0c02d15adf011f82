-- Deletes some of what a tenant has; with a null for their number all of it.
DELETE FROM users o
USING (
    SELECT few.name
    FROM users few
    WHERE few.tenant = $1
    LIMIT $2::bigint
) gone
WHERE o.tenant = $1
    AND o.name = gone.name
