-- Counts the operations of bulk operations by status (K-05).
SELECT o.bulk_operation, o.status, count(*)
FROM operations o
WHERE o.tenant = $1
    AND o.bulk_operation = ANY($2::bigint[])
GROUP BY o.bulk_operation, o.status
