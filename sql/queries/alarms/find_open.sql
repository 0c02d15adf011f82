-- Returns the open alarm of a type; there is at most one.
SELECT
    a.id, a.source, a.type, a.time, a.time_offset, a.text, a.status, a.severity, a.count,
    a.first_time, a.first_offset, a.created_at, a.revision, a.fragments, o.name
FROM alarms a
JOIN managed_objects o ON o.tenant = a.tenant AND o.id = a.source
WHERE a.tenant = $1
    AND a.source = $2
    AND a.type = $3
    AND a.status <> 'CLEARED'
