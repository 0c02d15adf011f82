-- Inserts the mark of a source, if there is none.
INSERT INTO measurement_rollup_marks (tenant, source, rolled)
SELECT tenant, id, 0
FROM managed_objects
WHERE tenant = $1
    AND id = $2
ON CONFLICT DO NOTHING
