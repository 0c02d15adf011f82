-- How far a bulk operation has come, for who still holds it.
SELECT place
FROM bulk_operations
WHERE tenant = $1
    AND id = $2
    AND fence = $3
    AND status = 'ACTIVE'
