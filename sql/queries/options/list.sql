-- Returns the options of a tenant, including predefined ones that it did not set (Z-06).
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
-- Null means all categories.
WHERE ($5::text IS NULL OR shown.category = $5)
    -- After the previous page; null if the page number determines the start.
    AND ($6::text IS NULL OR (shown.category COLLATE "C", shown.key COLLATE "C") > ($6, $7::text))
-- The same order for every locale of the database.
ORDER BY shown.category COLLATE "C", shown.key COLLATE "C"
-- Null means no limit.
LIMIT $8::bigint
OFFSET $9
