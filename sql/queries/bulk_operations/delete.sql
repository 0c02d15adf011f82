-- Ends a bulk operation; what it created stays (K-07). Who holds it makes no further step.
UPDATE bulk_operations
SET
    status = 'DELETED',
    fence = fence + 1
WHERE tenant = $1
    AND id = $2
