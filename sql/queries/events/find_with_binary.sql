-- Returns an event with its file, complete or not, in one snapshot.
SELECT
    e.id, e.source, e.type, e.time, e.time_offset, e.text, e.created_at, e.revision, e.fragments,
    o.name, o.type,
    b.id, b.name, b.content_type, b.length, b.incomplete
FROM events e
JOIN managed_objects o ON o.tenant = e.tenant AND o.id = e.source
LEFT JOIN binaries b ON b.tenant = e.tenant AND b.event = e.id
WHERE e.tenant = $1
    AND e.id = $2
