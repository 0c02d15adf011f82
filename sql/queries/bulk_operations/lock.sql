-- Looks a bulk operation up that shall change, and keeps steps and other changes from it until the end of the transaction.
SELECT
    b.id, b.group_id, b.failed_parent, b.start_at, b.ramp, b.prototype, b.status, b.total, b.vanished,
    -- Whether an operation of it was created (K-08).
    b.place > b.vanished
FROM bulk_operations b
WHERE b.tenant = $1
    AND b.id = $2
FOR UPDATE
