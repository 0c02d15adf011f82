-- Deletes the marks of sources, and with them their rollups. Waits for a rollup in progress.
DELETE FROM measurement_rollup_marks
WHERE tenant = $1
    AND source = ANY(ARRAY(
        SELECT source
        FROM measurement_rollup_marks
        WHERE tenant = $1
            AND source = ANY($2)
        -- Locked in one order, so that two deletions cannot deadlock.
        ORDER BY source
        FOR UPDATE))
