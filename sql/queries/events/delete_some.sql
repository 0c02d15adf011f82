-- Some of the events of sources, but only when there are so many: few go with their sources, at once.
WITH ahead AS MATERIALIZED (
    SELECT id
    FROM events
    WHERE tenant = $1
        AND source = ANY($2)
    LIMIT $3
)
DELETE FROM events e
USING ahead
WHERE e.tenant = $1
    AND e.id = ahead.id
    AND (SELECT count(*) FROM ahead) = $3
