-- Counts the measurements of a tenant with this id or a greater one, up to $3.
SELECT count(*)
FROM (
    SELECT
    FROM measurements
    WHERE tenant = $1
        AND id >= $2
    -- The order makes the planner read the index from this id on, whatever it estimates.
    ORDER BY id
    LIMIT $3
) since
