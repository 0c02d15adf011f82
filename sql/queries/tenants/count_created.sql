-- Returns how many tenants a tenant created, and locks it, so that concurrent creations are counted one after
-- the other.
WITH parent AS (
    SELECT p.id FROM tenants p WHERE p.id = $1 FOR UPDATE
)
SELECT (SELECT count(*) FROM tenants t WHERE t.parent = parent.id) FROM parent
