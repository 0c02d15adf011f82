-- Gives a slot back. The milliseconds that the holder reserved and did not use are free again.
UPDATE servers
SET
    state = 'STOPPED',
    leased_until = '-infinity',
    ids_until = least(ids_until, $3)
WHERE slot = $1
    AND incarnation = $2
    AND leased_until > '-infinity'
