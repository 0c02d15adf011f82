DELETE FROM retention_runs
WHERE tenant = $1
    AND due_at < now() - interval '90 days'
