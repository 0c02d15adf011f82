-- What this connection is known by.
SELECT a.pid, a.backend_start
FROM pg_stat_activity a
WHERE a.pid = pg_backend_pid()
