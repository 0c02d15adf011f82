SELECT fragment, series
FROM measurement_series
WHERE tenant = $1
    AND source = $2
ORDER BY fragment, series
