-- Returns managed objects of tenants, each with all of its ancestors, their owners and whether the path has
-- childDevices links only. OFFSET 0 makes the planner look objects up by id instead of joining those of a whole
-- tenant.
SELECT asked.tenant, asked.id, l.id, o.owner, l.by_devices
FROM unnest($1::text[], $2::bigint[]) AS asked (tenant, id)
CROSS JOIN LATERAL lineage(asked.tenant, asked.id) l
CROSS JOIN LATERAL (
    SELECT o.owner
    FROM managed_objects o
    WHERE o.tenant = asked.tenant
        AND o.id = l.id
    OFFSET 0
) AS o
-- The lineage of an object that does not exist would lack the object itself.
WHERE EXISTS (
    SELECT 1
    FROM managed_objects s
    WHERE s.tenant = asked.tenant
        AND s.id = asked.id)
