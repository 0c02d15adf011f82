-- Returns the id of an application by its owner ($1) and its name ($2).
SELECT id
FROM applications
WHERE tenant = $1
    AND name = $2
