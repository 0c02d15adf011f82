-- Removes the mark that a late run was reported, because its tenant could not be notified.
UPDATE retention_runs
SET told_late = false
WHERE tenant = $1
    AND due_at = $2
