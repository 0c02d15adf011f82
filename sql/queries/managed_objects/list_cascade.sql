-- Returns the objects that are deleted with an object, the deepest first and the object itself last (I-10). $3 says
-- from which objects the deletion continues to their children: any (forceCascade), devices and groups (cascade), or
-- only groups and then only to their subgroups.
WITH RECURSIVE going (id, depth) AS (
    SELECT o.id, 0
    FROM managed_objects o
    WHERE o.tenant = $1
        AND o.id = $2
    UNION
    SELECT c.id, going.depth + 1
    FROM going
    JOIN managed_objects o ON o.tenant = $1 AND o.id = going.id
    JOIN links l ON l.tenant = $1 AND l.parent = going.id AND l.kind IN ('childDevices', 'childAssets')
    JOIN managed_objects c ON c.tenant = $1 AND c.id = l.child
    -- childDevices and childAssets have no cycles (I-04), so the recursion ends.
    WHERE CASE $3
        WHEN 'any' THEN true
        WHEN 'devices and groups' THEN o.fragment_names && ARRAY[$4, $5, $6]
        ELSE o.fragment_names @> ARRAY[$5] AND c.type = $7
    END
)
SELECT id
FROM going
GROUP BY id
ORDER BY max(depth) DESC, id
