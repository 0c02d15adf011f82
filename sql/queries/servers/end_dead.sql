-- Ends the connections of the other servers ($1 is this one) whose lease ended more than $2 seconds ago, and returns
-- the names of these servers. A server that hangs reads no notifications, and PostgreSQL keeps what it has not read.
SELECT dead.name, count(pg_terminate_backend(connected.pid))
FROM servers AS dead
JOIN pg_stat_activity AS connected ON right(connected.application_name, 16) = dead.token
WHERE dead.incarnation <> $1
    AND dead.token <> ''
    AND dead.leased_until > '-infinity'
    AND dead.leased_until < now() - make_interval(secs => $2)
    AND connected.datname = current_database()
GROUP BY dead.name
