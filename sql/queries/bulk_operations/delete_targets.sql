-- Deletes the list of devices of a bulk operation that creates no more operations.
DELETE FROM bulk_operation_targets
WHERE tenant = $1
    AND bulk_operation = $2
