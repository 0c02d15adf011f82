SELECT
    e.id, e.source, e.type, e.time, e.time_offset, e.text, e.created_at, e.revision, e.fragments,
    o.name, o.type
FROM events e
JOIN managed_objects o ON o.tenant = e.tenant AND o.id = e.source
WHERE e.tenant = $1
    AND e.id = $2
