UPDATE measurement_rollup_marks
SET rolled = $3
WHERE tenant = $1
    AND source = $2
