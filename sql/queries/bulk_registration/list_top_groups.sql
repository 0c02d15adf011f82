-- Returns top-level groups by name, the oldest first, at most a hundred of each name.
SELECT wanted.place, found.id
FROM unnest($2::text[]) WITH ORDINALITY AS wanted (name, place)
CROSS JOIN LATERAL (
    SELECT o.id
    FROM managed_objects o
    WHERE o.tenant = $1
        -- In the collation of the index by name.
        AND o.name COLLATE "C" = wanted.name
        -- Written so that no other index matches, because the number of groups may be that of the devices, or one.
        AND o.type IS NOT DISTINCT FROM $3
        AND $4 = ANY(o.fragment_names)
    ORDER BY o.id
    LIMIT 100
) AS found
ORDER BY wanted.place, found.id
