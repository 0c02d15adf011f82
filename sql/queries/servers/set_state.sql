-- Lets a server drain, or take clients again, or notes that it stops. It learns of it when it renews its lease.
UPDATE servers
SET state = $2
WHERE slot = $1
    AND leased_until > now()
    AND state <> 'STOPPING'
