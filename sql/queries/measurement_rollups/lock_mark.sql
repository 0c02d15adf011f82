-- Takes the mark of a source, unless somebody has it; and says how far it may be moved now. $3 is how many seconds
-- measurements must be old.
SELECT
    m.rolled,
    -- Nor closer to any transaction that is still writing: a commit may wait for a standby as long as that is away.
    first_id(least(now(), (
        SELECT min(xact_start)
        FROM pg_stat_activity
        WHERE datname = current_database()
            AND backend_xid IS NOT NULL
    )) - make_interval(secs => $3)),
    -- The end of the month, which is that of a partition, in which the first id lies that is not rolled up.
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
