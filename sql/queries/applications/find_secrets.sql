-- Returns the encrypted secrets of an application that the tenant owns.
SELECT a.sealed_key, a.sealed_resources_password
FROM applications a
WHERE a.tenant = $1
    AND a.id = $2
