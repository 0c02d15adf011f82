-- Returns the next devices to process.
SELECT device
FROM bulk_operation_targets
WHERE tenant = $1
    AND bulk_operation = $2
    AND position >= $3
ORDER BY position
LIMIT $4
