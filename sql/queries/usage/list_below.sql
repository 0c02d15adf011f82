-- Returns the usage of the tenants that a tenant manages: `management` manages all, another one those that it
-- created.
SELECT u.tenant, u.measured_at, u.devices, u.devices_with_children, u.stored_bytes
FROM tenant_usage u
JOIN tenants t ON t.id = u.tenant
WHERE $1 = 'management' OR t.parent = $1
ORDER BY u.tenant
