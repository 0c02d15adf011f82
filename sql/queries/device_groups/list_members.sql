-- Returns the devices of a static group: its child assets and those of its subgroups (K-03), but not the children of a
-- device. OFFSET 0 makes the planner follow each link by its key, because the statistics of tables that were just
-- filled are not reliable.
WITH RECURSIVE below (id, is_device) AS (
    SELECT o.id, false
    FROM managed_objects o
    WHERE o.tenant = $1
        AND o.id = $2
    UNION
    SELECT child.id, child.is_device
    FROM below
    CROSS JOIN LATERAL (
        SELECT l.child
        FROM links l
        WHERE l.tenant = $1
            AND l.parent = below.id
            AND l.kind = 'childAssets'
        OFFSET 0
    ) AS link
    CROSS JOIN LATERAL (
        SELECT o.id, o.fragment_names @> ARRAY[$3::text] AS is_device
        FROM managed_objects o
        WHERE o.tenant = $1
            AND o.id = link.child
        OFFSET 0
    ) AS child
    WHERE NOT below.is_device
)
SELECT below.id
FROM below
WHERE below.is_device
