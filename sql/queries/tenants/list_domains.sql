-- Returns all tenants, to resolve host names; all tenants of a deployment fit into memory.
SELECT id, domain, CASE WHEN moved_at IS NULL THEN status ELSE 'MOVED' END
FROM tenants
