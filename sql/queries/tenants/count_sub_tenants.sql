-- Returns how many tenants a tenant created.
SELECT count(*) FROM tenants WHERE parent = $1
