-- Returns the newest entries about an object ($3) in the journal of a tenant ($1) since a moment ($2): those on its
-- channels, and those whose content has its id ($4 is a pattern of the id as JSON). It looks at a number of entries
-- ($5) and returns at most another number ($6).
SELECT j.position, j.arrived_at, j.bytes, j.resource, j.source, j.content
FROM journal_notifications j
WHERE j.tenant = $1
    AND j.position > (SELECT o.newest - $5 FROM journals o WHERE o.tenant = $1)
    AND j.arrived_at >= $2
    AND (j.source = $3 OR j.content LIKE $4)
ORDER BY j.position DESC
LIMIT $6
