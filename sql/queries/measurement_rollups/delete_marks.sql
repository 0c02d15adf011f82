-- Forgets the rollups of sources, which go with their marks. Waits for who is rolling one of them up.
DELETE FROM measurement_rollup_marks
WHERE tenant = $1
    AND source = ANY(ARRAY(
        SELECT source
        FROM measurement_rollup_marks
        WHERE tenant = $1
            AND source = ANY($2)
        -- In one order, so that two deletions do not wait for each other.
        ORDER BY source
        FOR UPDATE))
