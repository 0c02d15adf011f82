-- Returns the application with a key. Keys are unique in the deployment, so no tenant is given (C-05).
SELECT name
FROM applications
WHERE key_hash = $1
