-- Returns all tenants, to resolve host names; all tenants of a deployment fit into memory.
SELECT id, domain, status
FROM tenants
