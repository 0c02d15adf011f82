-- Locks a group against deletion until the transaction ends.
SELECT id
FROM groups
WHERE tenant = $1
    AND id = $2
FOR KEY SHARE
