-- What a tenant set, and what is predefined where it set nothing (Z-06).
SELECT shown.category, shown.key, shown.value
FROM (
    SELECT o.category, o.key, o.value
    FROM options o
    WHERE o.tenant = $1
    UNION ALL
    SELECT known.category, known.key, known.value
    FROM unnest($2::text[], $3::text[], $4::text[]) AS known (category, key, value)
    WHERE NOT EXISTS (
        SELECT
        FROM options o
        WHERE o.tenant = $1
            AND o.category = known.category
            AND o.key = known.key)
) shown
-- Null: of every category.
WHERE ($5::text IS NULL OR shown.category = $5)
    -- Behind the page before; null where the number of the page says where it begins.
    AND ($6::text IS NULL OR (shown.category COLLATE "C", shown.key COLLATE "C") > ($6, $7::text))
-- The same order whatever the locale of the database.
ORDER BY shown.category COLLATE "C", shown.key COLLATE "C"
-- Null: all of them.
LIMIT $8::bigint
OFFSET $9
