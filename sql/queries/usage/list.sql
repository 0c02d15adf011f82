-- Returns the usage of every tenant.
SELECT u.tenant, u.measured_at, u.devices, u.devices_with_children, u.stored_bytes
FROM tenant_usage u
ORDER BY u.tenant
