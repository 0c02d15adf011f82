-- Locks a group against changes, deletion and changes of its members until the transaction ends.
SELECT id
FROM groups
WHERE tenant = $1
    AND id = $2
FOR UPDATE
