-- Locks objects in one order, so that two deletions cannot deadlock. Writes for these objects wait.
SELECT id
FROM managed_objects
WHERE tenant = $1
    AND id = ANY($2)
ORDER BY id
FOR UPDATE
