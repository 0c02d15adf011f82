-- Ends the lease of a server that is gone, or with $2 of any server, removes it from all tenants, and ends its
-- connections to the database. Returns no row if it lives.
WITH evicted AS (
    UPDATE servers
    SET
        state = 'STOPPED',
        leased_until = '-infinity',
        takes_part = false
    WHERE slot = $1
        AND leased_until > '-infinity'
        AND (leased_until < now() OR $2)
    RETURNING incarnation, token
), ended AS (
    DELETE FROM publication_listeners WHERE server IN (SELECT incarnation FROM evicted)
)
SELECT (
    SELECT count(pg_terminate_backend(connected.pid))
    FROM pg_stat_activity AS connected
    WHERE connected.datname = current_database()
        AND evicted.token <> ''
        AND right(connected.application_name, 16) = evicted.token)
FROM evicted
