-- Whether a tenant takes devices. It stays as it is until the transaction ends: who would suspend it, to delete it, waits.
SELECT status
FROM tenants
WHERE id = $1
FOR SHARE
