-- For tenant resolution by host name; all tenants of a deployment fit into memory.
SELECT id, domain, status
FROM tenants
