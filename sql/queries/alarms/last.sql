SELECT coalesce(max(a.id), 0)
FROM alarms a
WHERE a.tenant = $1
