-- Stores the number of devices that a bulk operation would have if it started now.
UPDATE bulk_operations
SET total = $3
WHERE tenant = $1
    AND id = $2
