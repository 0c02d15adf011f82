-- What no index holds of some measurements.
SELECT id, wide_readings, verbatim
FROM measurements
WHERE tenant = $1
    AND id = ANY($2)
