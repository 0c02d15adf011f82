-- Returns some applications of a tenant and locks them, so that concurrent subscriptions wait until the transaction
-- ends.
SELECT a.id
FROM applications a
WHERE a.tenant = $1
ORDER BY a.id
LIMIT $2
FOR UPDATE
