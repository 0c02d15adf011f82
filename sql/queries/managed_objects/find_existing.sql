SELECT id
FROM managed_objects
WHERE tenant = $1
    AND id = ANY($2)
