-- Returns the place before the first notification of a tenant ($1) at a position ($2) or later that arrived at $3 or
-- later.
SELECT position - 1, arrived_at, bytes - octet_length(content)
FROM journal_notifications
WHERE tenant = $1
    AND position >= $2
    AND arrived_at >= $3
ORDER BY position
LIMIT 1
