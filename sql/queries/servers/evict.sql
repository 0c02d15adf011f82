-- Ends the lease of a server that is gone, or with $2 of any server, and removes it from all tenants. Returns no row
-- if it lives.
WITH evicted AS (
    UPDATE servers
    SET
        state = 'STOPPED',
        leased_until = '-infinity',
        takes_part = false
    WHERE slot = $1
        AND leased_until > '-infinity'
        AND (leased_until < now() OR $2)
    RETURNING incarnation
), ended AS (
    DELETE FROM publication_listeners WHERE server IN (SELECT incarnation FROM evicted)
)
SELECT FROM evicted
