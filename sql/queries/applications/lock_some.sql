-- Some applications of a tenant; whoever would subscribe to one of them waits until this transaction ends.
SELECT a.id
FROM applications a
WHERE a.tenant = $1
ORDER BY a.id
LIMIT $2
FOR UPDATE
