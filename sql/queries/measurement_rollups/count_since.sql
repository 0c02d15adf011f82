-- How many measurements of a tenant have this id or a later one, up to $3.
SELECT count(*)
FROM (
    SELECT
    FROM measurements
    WHERE tenant = $1
        AND id >= $2
    -- So that it is read from this id on, whatever the planner takes for likely.
    ORDER BY id
    LIMIT $3
) since
