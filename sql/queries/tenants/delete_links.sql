-- Deletes some of what a tenant has; with a null for their number all of it.
DELETE FROM links o
USING (
    SELECT few.parent, few.kind, few.child
    FROM links few
    WHERE few.tenant = $1
    LIMIT $2::bigint
) gone
WHERE o.tenant = $1
    AND o.parent = gone.parent
    AND o.kind = gone.kind
    AND o.child = gone.child
