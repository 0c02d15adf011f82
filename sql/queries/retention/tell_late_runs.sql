-- Returns the runs that have not ended within a day, each of them once, and marks them as reported.
UPDATE retention_runs
SET told_late = true
WHERE ended_at IS NULL
    AND NOT told_late
    AND due_at <= now() - interval '1 day'
RETURNING tenant, due_at, begun_at
