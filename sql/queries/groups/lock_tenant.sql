-- Ensures that one server at a time creates the groups of a tenant.
SELECT id
FROM tenants
WHERE id = $1
FOR NO KEY UPDATE
