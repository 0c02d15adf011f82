-- The devices of a static group: its child assets and those of its subgroups (K-03). What is below a device belongs to the
-- device.
WITH RECURSIVE below (id, is_device) AS (
    SELECT o.id, false
    FROM managed_objects o
    WHERE o.tenant = $1
        AND o.id = $2
    UNION
    SELECT o.id, o.fragment_names @> ARRAY[$3::text]
    FROM below
    JOIN links l ON l.tenant = $1 AND l.parent = below.id AND l.kind = 'childAssets'
    JOIN managed_objects o ON o.tenant = $1 AND o.id = l.child
    WHERE NOT below.is_device
)
SELECT below.id
FROM below
WHERE below.is_device
