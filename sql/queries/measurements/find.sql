SELECT id, source, time, local_time, shape, readings
FROM measurements
WHERE tenant = $1
    AND id = $2
