-- Notes how many devices a bulk operation would be for if it started now.
UPDATE bulk_operations
SET total = $3
WHERE tenant = $1
    AND id = $2
