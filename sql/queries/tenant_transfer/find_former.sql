-- Locks the tenant that an import replaces ($1). Returns its status, the tenant that created it, and the other tenants
-- that have subscribed to its applications.
SELECT
    t.status,
    t.parent,
    ARRAY(
        SELECT DISTINCT s.tenant
        FROM applications a
        JOIN subscriptions s ON s.application = a.id
        WHERE a.tenant = t.id
            AND s.tenant <> t.id
        ORDER BY s.tenant)
FROM tenants t
WHERE t.id = $1
FOR UPDATE
