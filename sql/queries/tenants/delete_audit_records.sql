-- Deletes some of what a tenant has; with a null for their number all of it.
DELETE FROM audit_records o
USING (
    SELECT few.id
    FROM audit_records few
    WHERE few.tenant = $1
    LIMIT $2::bigint
) gone
WHERE o.tenant = $1
    AND o.id = gone.id
