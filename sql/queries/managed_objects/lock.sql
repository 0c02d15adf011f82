-- Locks objects in one order, so that two deletions cannot deadlock, and returns their revisions. Writes for these
-- objects wait.
SELECT id, revision
FROM managed_objects
WHERE tenant = $1
    AND id = ANY($2)
ORDER BY id
FOR UPDATE
