-- Returns up to $4 notifications of a tenant ($1) after a position ($2), which arrived at $3. No partition of an
-- earlier hour is read.
SELECT position, arrived_at, bytes, resource, source, content
FROM journal_notifications
WHERE tenant = $1
    AND position > $2
    AND arrived_at >= $3
ORDER BY position
LIMIT $4
