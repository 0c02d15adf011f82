-- Ends a bulk operation; the operations it created stay (K-07). Its holder makes no further step.
UPDATE bulk_operations
SET
    status = 'DELETED',
    fence = fence + 1
WHERE tenant = $1
    AND id = $2
