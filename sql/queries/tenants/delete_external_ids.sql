-- Deletes some of what a tenant has; with a null for their number all of it.
DELETE FROM external_ids o
USING (
    SELECT few.type, few.value
    FROM external_ids few
    WHERE few.tenant = $1
    LIMIT $2::bigint
) gone
WHERE o.tenant = $1
    AND o.type = gone.type
    AND o.value = gone.value
