-- Returns the kind of the object with an id ($2) in a tenant ($1), and the object on whose channels its changes are
-- published.
SELECT 'managed object' AS kind, o.id AS source
FROM managed_objects o
WHERE o.tenant = $1
    AND o.id = $2
UNION ALL
SELECT 'alarm', a.source
FROM alarms a
WHERE a.tenant = $1
    AND a.id = $2
UNION ALL
SELECT 'event', e.source
FROM events e
WHERE e.tenant = $1
    AND e.id = $2
UNION ALL
SELECT 'operation', p.device
FROM operations p
WHERE p.tenant = $1
    AND p.id = $2
UNION ALL
SELECT 'measurement', m.source
FROM measurements m
WHERE m.tenant = $1
    AND m.id = $2
LIMIT 1
