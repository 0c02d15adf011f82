-- Returns a managed object first and then all of its ancestors, each with its owner and whether the path to it has
-- childDevices links only. OFFSET 0 makes the planner look objects up by id instead of joining those of a whole tenant.
SELECT l.id, o.owner, l.by_devices, o.name, o.fragment_names, o.type
FROM lineage($1, $2) l
CROSS JOIN LATERAL (
    SELECT o.owner, o.name, o.fragment_names, o.type
    FROM managed_objects o
    WHERE o.tenant = $1
        AND o.id = l.id
    OFFSET 0
) AS o
ORDER BY (l.id = $2) DESC
