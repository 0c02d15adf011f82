-- Notes that a tenant could not be told.
UPDATE retention_runs
SET told_late = false
WHERE tenant = $1
    AND due_at = $2
