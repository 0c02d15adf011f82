-- Begins the run of a tenant that is due, unless another server has begun it.
INSERT INTO retention_runs (tenant, due_at, leased_until)
SELECT due.tenant, due.at, now() + make_interval(secs => $1)
FROM (
    SELECT r.tenant, today.at
    FROM retention_rules r,
        -- The last time at which runs were due: the hour $2 of a day in UTC.
        LATERAL (
            SELECT (date_trunc('day', (now() AT TIME ZONE 'UTC') - make_interval(hours => $2))
                + make_interval(hours => $2)) AT TIME ZONE 'UTC' AS at
        ) today
    WHERE r.changed_at < today.at
        AND NOT EXISTS (
            SELECT FROM retention_runs p
            WHERE p.tenant = r.tenant
                -- A previous run that takes longer than a day ends first.
                AND (p.due_at >= today.at OR p.ended_at IS NULL))
    LIMIT 1
) due
ON CONFLICT (tenant, due_at) DO NOTHING
RETURNING tenant, due_at, fence, deleted
