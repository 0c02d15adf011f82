-- Ends the connections of servers ($1) that do not respond, so that nothing that they decided before is committed.
SELECT pg_terminate_backend(pid)
FROM pg_stat_activity
WHERE datname = current_database()
    AND application_name = ANY($1)
