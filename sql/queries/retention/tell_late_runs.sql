-- Notes that tenants are told of runs that have not ended within a day. Each run is returned once.
UPDATE retention_runs
SET told_late = true
WHERE ended_at IS NULL
    AND NOT told_late
    AND due_at <= now() - interval '1 day'
RETURNING tenant, due_at, begun_at
