-- Returns files of events of all tenants that got no chunk for too long, the oldest first.
SELECT b.tenant, b.event, e.source, b.id, b.length
FROM binaries b
JOIN events e ON e.tenant = b.tenant AND e.id = b.event
WHERE b.incomplete
    AND b.created_at < now() - make_interval(secs => $1)
ORDER BY b.created_at
LIMIT $2
