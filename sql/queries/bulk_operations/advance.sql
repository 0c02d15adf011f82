-- Stores the position a step reaches and when the next one is due, in the transaction of the step, and renews the
-- lease.
UPDATE bulk_operations
SET
    place = $5,
    due_at = now() + make_interval(secs => $6),
    status = CASE WHEN $5 = total THEN 'COMPLETED' ELSE status END,
    leased_until = greatest(leased_until, now() + make_interval(secs => $7))
WHERE tenant = $1
    AND id = $2
    -- No other process has taken over, nobody has changed or deleted it,
    AND fence = $3
    AND status = 'ACTIVE'
    -- and no earlier step with an unknown outcome was committed.
    AND place = $4
