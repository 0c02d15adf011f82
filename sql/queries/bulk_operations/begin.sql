-- Stores the number of devices, in the transaction that chose them. Without devices it is completed at once (K-03).
UPDATE bulk_operations
SET
    total = $4::bigint,
    chosen = true,
    status = CASE WHEN $4::bigint = 0 THEN 'COMPLETED' ELSE status END,
    leased_until = greatest(leased_until, now() + make_interval(secs => $5))
WHERE tenant = $1
    AND id = $2
    -- No other process has taken over, and nobody has changed or deleted it.
    AND fence = $3
    AND status = 'ACTIVE'
    AND NOT chosen
