-- Gives a slot back, and removes its holder from all tenants. The milliseconds that the holder reserved and did not
-- use become free.
WITH given AS (
    UPDATE servers
    SET
        state = 'STOPPED',
        leased_until = '-infinity',
        takes_part = false,
        ids_until = least(ids_until, $3)
    WHERE slot = $1
        AND incarnation = $2
        AND leased_until > '-infinity'
    RETURNING incarnation
)
DELETE FROM publication_listeners WHERE server IN (SELECT incarnation FROM given)
