SELECT DISTINCT a.source
FROM alarms a
WHERE a.tenant = $1
    AND a.id = ANY($2)
