-- Which tenants are bounded by the limits of another one: those that a tenant other than that of the installation created.
SELECT t.id, t.parent
FROM tenants t
WHERE t.parent IS NOT NULL
    AND t.parent <> 'management'
