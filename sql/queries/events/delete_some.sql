-- Some of the events of sources, but only when there are so many: few go with their sources, at once.
WITH some AS MATERIALIZED (
    SELECT id
    FROM events
    WHERE tenant = $1
        AND source = ANY($2)
    LIMIT $3
)
DELETE FROM events e
USING some
WHERE e.tenant = $1
    AND e.id = some.id
    AND (SELECT count(*) FROM some) = $3
