-- Locks an application against concurrent changes.
SELECT type, name, required_roles, roles
FROM applications
WHERE tenant = $1
    AND id = $2
FOR UPDATE
