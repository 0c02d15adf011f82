-- The group stays until this transaction ends.
SELECT id
FROM groups
WHERE tenant = $1
    AND id = $2
FOR KEY SHARE
