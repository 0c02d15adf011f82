-- Returns managed objects, each with all of its ancestors, their owners and whether the path has childDevices links
-- only.
SELECT source.id, o.id, o.owner, l.by_devices
FROM unnest($2::bigint[]) AS source (id)
CROSS JOIN LATERAL lineage($1, source.id) l
JOIN managed_objects o ON o.tenant = $1 AND o.id = l.id
-- The lineage of an object that does not exist would lack the object itself.
WHERE EXISTS (
    SELECT 1
    FROM managed_objects s
    WHERE s.tenant = $1
        AND s.id = source.id)
