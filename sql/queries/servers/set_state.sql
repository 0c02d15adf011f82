-- Sets the state of a living server: it drains, accepts new clients, or stops. The server reads it when it renews its
-- lease.
UPDATE servers
SET state = $2
WHERE slot = $1
    AND leased_until > now()
    AND state <> 'STOPPING'
