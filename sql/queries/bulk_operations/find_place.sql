-- Returns the position of a bulk operation, if this process still holds it.
SELECT place
FROM bulk_operations
WHERE tenant = $1
    AND id = $2
    AND fence = $3
    AND status = 'ACTIVE'
