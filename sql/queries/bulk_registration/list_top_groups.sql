-- Groups at the top by their names, the oldest first. Of very many with one name the oldest hundred are enough.
SELECT wanted.place, found.id
FROM unnest($2::text[]) WITH ORDINALITY AS wanted (name, place)
CROSS JOIN LATERAL (
    SELECT o.id
    FROM managed_objects o
    WHERE o.tenant = $1
        -- As the index by name compares.
        AND o.name COLLATE "C" = wanted.name
        -- In words that no other index finds it by: there are as many groups as there are devices, or one.
        AND o.type IS NOT DISTINCT FROM $3
        AND $4 = ANY(o.fragment_names)
    ORDER BY o.id
    LIMIT 100
) AS found
ORDER BY wanted.place, found.id
