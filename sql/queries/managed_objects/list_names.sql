SELECT id, name
FROM managed_objects
WHERE tenant = $1
    AND id = ANY($2)
    AND name IS NOT NULL
