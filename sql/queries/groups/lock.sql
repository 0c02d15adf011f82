-- Others who would change or delete the group, or join or leave it, wait until this transaction ends.
SELECT id
FROM groups
WHERE tenant = $1
    AND id = $2
FOR UPDATE
