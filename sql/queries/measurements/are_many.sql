-- Returns whether sources have as many measurements as one transaction deletes, or more.
SELECT count(*) = $3
FROM (
    SELECT
    FROM measurements
    WHERE tenant = $1
        AND source = ANY($2)
    LIMIT $3
) AS first
