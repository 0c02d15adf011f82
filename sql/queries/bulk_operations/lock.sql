-- Returns a bulk operation that will be changed, and locks it against steps and other changes until the transaction
-- ends.
SELECT
    b.id, b.group_id, b.failed_parent, b.start_at, b.ramp, b.prototype, b.status, b.total, b.vanished,
    -- Whether an operation of it was created (K-08).
    b.place > b.vanished
FROM bulk_operations b
WHERE b.tenant = $1
    AND b.id = $2
FOR UPDATE
