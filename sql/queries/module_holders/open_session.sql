-- Returns what identifies this connection: the process id of its backend, and when that started.
SELECT a.pid, a.backend_start
FROM pg_stat_activity a
WHERE a.pid = pg_backend_pid()
