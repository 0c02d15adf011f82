-- Returns one row without a pair for an object without external ids, and no row for an object that does not exist.
SELECT e.type, e.value
FROM managed_objects o
LEFT JOIN external_ids e ON e.tenant = o.tenant AND e.object = o.id
WHERE o.tenant = $1
    AND o.id = $2
ORDER BY e.type, e.value
