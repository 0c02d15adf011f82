-- Notes the place a step reaches, and when the next is due, in the transaction of the step. Who makes a step is at work.
UPDATE bulk_operations
SET
    place = $5,
    due_at = now() + make_interval(secs => $6),
    status = CASE WHEN $5 = total THEN 'COMPLETED' ELSE status END,
    leased_until = greatest(leased_until, now() + make_interval(secs => $7))
WHERE tenant = $1
    AND id = $2
    -- The premise: nobody has taken over, changed or deleted it,
    AND fence = $3
    AND status = 'ACTIVE'
    -- and a step whose end was not heard of has not been made after all.
    AND place = $4
