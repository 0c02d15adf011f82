SELECT id, type, name, owner, created_at, updated_at, fragments, revision
FROM managed_objects
WHERE tenant = $1
    AND id = $2
