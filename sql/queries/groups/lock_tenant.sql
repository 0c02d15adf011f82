-- One server at a time gives a tenant its groups.
SELECT id
FROM tenants
WHERE id = $1
FOR NO KEY UPDATE
