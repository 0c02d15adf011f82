-- Of managed objects each with everything above it: whose it is, and the way permissions reach it.
SELECT source.id, o.id, o.owner, l.by_devices
FROM unnest($2::bigint[]) AS source (id)
CROSS JOIN LATERAL lineage($1, source.id) l
JOIN managed_objects o ON o.tenant = $1 AND o.id = l.id
-- A lineage of what is gone has no beginning.
WHERE EXISTS (
    SELECT 1
    FROM managed_objects s
    WHERE s.tenant = $1
        AND s.id = source.id)
