-- Returns whether a tenant takes devices, and locks it against suspension, and so against deletion, until the
-- transaction ends.
SELECT status
FROM tenants
WHERE id = $1
FOR SHARE
