-- Stores the progress of a run and renews its lease, unless another server has taken it over.
UPDATE retention_runs
SET
    deleted = $4,
    leased_until = now() + make_interval(secs => $5),
    ended_at = CASE WHEN $6 THEN now() END
WHERE tenant = $1
    AND due_at = $2
    AND fence = $3
