-- Returns the devices whose operation of an earlier bulk operation FAILED (K-04).
SELECT o.device
FROM operations o
WHERE o.tenant = $1
    AND o.bulk_operation = $2
    AND o.status = 'FAILED'
