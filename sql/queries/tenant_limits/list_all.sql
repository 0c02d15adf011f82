-- Returns the limits that were set for any tenant.
SELECT l.tenant, l.name, l.value
FROM tenant_limits l
