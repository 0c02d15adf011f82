-- Ends the lease of a server that is gone, or with $2 of any.
UPDATE servers
SET
    state = 'STOPPED',
    leased_until = '-infinity'
WHERE slot = $1
    AND leased_until > '-infinity'
    AND (leased_until < now() OR $2)
