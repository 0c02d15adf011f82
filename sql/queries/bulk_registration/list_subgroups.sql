-- Returns direct subgroups by name, the oldest first. They are found by name, because a group may contain the whole
-- fleet.
SELECT wanted.place, found.id
FROM unnest($2::bigint[], $3::text[]) WITH ORDINALITY AS wanted (parent, name, place)
CROSS JOIN LATERAL (
    SELECT o.id
    FROM managed_objects o
    WHERE o.tenant = $1
        AND o.name COLLATE "C" = wanted.name
        AND $4 = ANY(o.fragment_names)
        AND EXISTS (
            SELECT 1
            FROM links l
            WHERE l.tenant = $1
                AND l.parent = wanted.parent
                AND l.kind = 'childAssets'
                AND l.child = o.id
        )
    ORDER BY o.id
    LIMIT 100
) AS found
ORDER BY wanted.place, found.id
