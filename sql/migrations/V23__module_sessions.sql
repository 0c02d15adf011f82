-- The connection by which a process holds leases of modules: with it, a lease ends before its time (CSV3). A holder that is killed is
-- followed at once, not when its lease has run out.

ALTER TABLE module_leases
    -- The process of PostgreSQL that serves the connection, and when it began: numbers of processes are used again. Null in a lease
    -- that was taken by a server of an earlier version; it ends with its time.
    ADD COLUMN session_pid   integer,
    ADD COLUMN session_start timestamptz;

-- The connections of holders that are no more. When a connection began is hidden from roles that may not see it; then its number
-- counts alone.
CREATE VIEW lost_module_sessions AS
SELECT held.session_pid, held.session_start
FROM (SELECT DISTINCT session_pid, session_start FROM module_leases WHERE leased_until > now()) held
WHERE held.session_pid IS NOT NULL
    AND NOT EXISTS (
        SELECT FROM pg_stat_activity a
        WHERE a.pid = held.session_pid
            AND (a.backend_start = held.session_start OR a.backend_start IS NULL)
    );
