-- Notes the place a step reaches, in the transaction of the step. Who makes a step is at work.
UPDATE bulk_alarm_updates
SET
    place_time = $4,
    place_id = $5,
    leased_until = greatest(leased_until, now() + make_interval(secs => $6))
WHERE tenant = $1
    AND id = $2
    -- The premise: nobody has taken over.
    AND fence = $3
