-- Of an application: others that change it wait.
SELECT type, name, required_roles, roles
FROM applications
WHERE tenant = $1
    AND id = $2
FOR UPDATE
