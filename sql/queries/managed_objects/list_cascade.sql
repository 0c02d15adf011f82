-- What goes with an object when it is deleted, deepest first, the object itself last (I-10). $3 says from which objects
-- the deletion goes on to their children: any (forceCascade), devices and groups (cascade), or groups alone, and then
-- only to their subgroups.
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
    -- childDevices and childAssets hold no rings (I-04), so this ends.
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
