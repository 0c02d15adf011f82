-- Ends the connections of servers with these tokens ($1) that do not respond, so that none of their unasserted
-- transactions is committed.
SELECT pg_terminate_backend(pid)
FROM pg_stat_activity
WHERE datname = current_database()
    AND right(application_name, 16) = ANY($1)
