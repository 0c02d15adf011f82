-- Stores the position a step reaches, in the transaction of the step, and renews the lease.
UPDATE bulk_alarm_updates
SET
    place_time = $4,
    place_id = $5,
    leased_until = greatest(leased_until, now() + make_interval(secs => $6))
WHERE tenant = $1
    AND id = $2
    -- No other process has taken over.
    AND fence = $3
