SELECT response_interval <= 0
FROM availability
WHERE tenant = $1
    AND device = $2
