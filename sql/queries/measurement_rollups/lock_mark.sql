-- Locks the mark of a source, unless another transaction holds it, and returns how far it may be moved now. $3 is the
-- minimum age of measurements in seconds.
SELECT
    m.rolled,
    -- The mark also stays behind every transaction that is still writing: a commit may wait for an unavailable standby.
    first_id(least(now(), (
        SELECT min(xact_start)
        FROM pg_stat_activity
        WHERE datname = current_database()
            AND backend_xid IS NOT NULL
    )) - make_interval(secs => $3)),
    -- The end of the month, and so of the partition, with the first id that is not rolled up.
    first_id(date_trunc('month', to_timestamp((greatest(m.rolled, (
        SELECT min(s.first)
        FROM source_shapes s
        WHERE s.tenant = $1
            AND s.source = $2
    )) >> 20) / 1000.0 + 1735689600), 'UTC') + interval '1 month')
FROM measurement_rollup_marks m
WHERE m.tenant = $1
    AND m.source = $2
FOR UPDATE OF m SKIP LOCKED
