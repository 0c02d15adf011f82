-- Returns the processes of PostgreSQL that run those of these transactions ($1) that are still running, with the
-- servers they belong to.
SELECT running_in.pid, server.name
FROM pg_snapshot_xip(pg_current_snapshot()) AS running
JOIN pg_stat_activity AS running_in ON running_in.backend_xid = running::xid
JOIN servers AS server ON server.token = right(running_in.application_name, 16)
WHERE running::text = ANY($1)
    AND running_in.datname = current_database()
