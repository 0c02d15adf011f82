-- Groups and options go with their tenant by the foreign key.
DELETE FROM tenants
WHERE id = $1
