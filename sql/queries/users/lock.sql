-- Others who would change or delete the user wait until this transaction ends; memberships may still be added.
SELECT name
FROM users
WHERE tenant = $1
    AND name = $2
FOR NO KEY UPDATE
