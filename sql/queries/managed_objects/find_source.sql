-- What a device actor needs to know of its object before it writes.
SELECT name, owner
FROM managed_objects
WHERE tenant = $1
    AND id = $2
