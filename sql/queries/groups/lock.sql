-- Others who would change or delete the group wait until this transaction ends; members may still be added.
SELECT id
FROM groups
WHERE tenant = $1
    AND id = $2
FOR NO KEY UPDATE
