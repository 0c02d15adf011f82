-- Returns the columns of some measurements that no index holds.
SELECT id, wide_readings, verbatim
FROM measurements
WHERE tenant = $1
    AND id = ANY($2)
