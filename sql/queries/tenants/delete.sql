-- Deletes a tenant. The foreign key deletes its groups and options.
DELETE FROM tenants
WHERE id = $1
