-- Returns managed objects of tenants, each with all of its ancestors, their owners and whether the path has
-- childDevices links only. The row of an object itself also has the other columns that writes of its data need.
-- OFFSET 0 makes the planner look objects up by id instead of joining those of a whole tenant.
SELECT
    asked.tenant, asked.id, l.id, o.owner, l.by_devices,
    CASE WHEN l.id = asked.id THEN o.name END,
    CASE WHEN l.id = asked.id THEN o.type END,
    CASE WHEN l.id = asked.id THEN o.fragment_names END
FROM unnest($1::text[], $2::bigint[]) AS asked (tenant, id)
CROSS JOIN LATERAL lineage(asked.tenant, asked.id) l
CROSS JOIN LATERAL (
    SELECT o.owner, o.name, o.type, o.fragment_names
    FROM managed_objects o
    WHERE o.tenant = asked.tenant
        AND o.id = l.id
    OFFSET 0
) AS o
