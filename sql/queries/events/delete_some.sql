-- Deletes some events of sources, but only if there are many: a few are deleted with their sources.
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
