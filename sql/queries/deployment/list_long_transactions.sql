-- Returns the transactions of servers that have written something and are older than $1 seconds, the oldest first.
SELECT running_in.pid, server.name, extract(epoch FROM clock_timestamp() - running_in.xact_start)::float8
FROM pg_stat_activity AS running_in
JOIN servers AS server ON server.token = right(running_in.application_name, 16)
WHERE running_in.datname = current_database()
    AND running_in.backend_xid IS NOT NULL
    AND running_in.xact_start < clock_timestamp() - make_interval(secs => $1)
ORDER BY running_in.xact_start
