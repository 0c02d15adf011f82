-- What a device actor remembers: its open alarms by type.
SELECT type, id
FROM alarms
WHERE tenant = $1
    AND source = $2
    AND status <> 'CLEARED'
