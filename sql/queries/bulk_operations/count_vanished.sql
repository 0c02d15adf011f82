-- Adds to the number of devices that were deleted before their turn, in the transaction of the step.
UPDATE bulk_operations
SET vanished = vanished + $3
WHERE tenant = $1
    AND id = $2
