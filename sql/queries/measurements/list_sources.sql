-- Returns the sources of some measurements.
SELECT DISTINCT source
FROM measurements
WHERE tenant = $1
    AND id = ANY($2)
