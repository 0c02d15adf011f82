-- Takes over a run whose server no longer renews its lease.
UPDATE retention_runs r
SET
    fence = r.fence + 1,
    leased_until = now() + make_interval(secs => $1)
FROM (
    SELECT tenant, due_at
    FROM retention_runs
    WHERE ended_at IS NULL
        AND leased_until < now()
    ORDER BY leased_until
    LIMIT 1
    FOR UPDATE SKIP LOCKED
) abandoned
WHERE r.tenant = abandoned.tenant
    AND r.due_at = abandoned.due_at
RETURNING r.tenant, r.due_at, r.fence, r.deleted
