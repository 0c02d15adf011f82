-- Counts the rows of list.sql: stored options, and predefined ones that are not stored.
SELECT (
    SELECT count(*)
    FROM options o
    WHERE o.tenant = $1
) + (
    SELECT count(*)
    FROM unnest($2::text[], $3::text[]) AS known (category, key)
    WHERE NOT EXISTS (
        SELECT
        FROM options o
        WHERE o.tenant = $1
            AND o.category = known.category
            AND o.key = known.key)
)
