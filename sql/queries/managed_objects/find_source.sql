-- What a device actor remembers of its object.
SELECT name, owner
FROM managed_objects
WHERE tenant = $1
    AND id = $2
