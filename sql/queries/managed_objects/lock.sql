-- Locked in one order, so that two deletions do not wait for each other. What is written for these objects waits.
SELECT id
FROM managed_objects
WHERE tenant = $1
    AND id = ANY($2)
ORDER BY id
FOR UPDATE
