SELECT rolled
FROM measurement_rollup_marks
WHERE tenant = $1
    AND source = $2
