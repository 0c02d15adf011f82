-- Returns the tenants that the limits of another tenant bound, with that tenant: all that a tenant other than that of
-- the installation created.
SELECT t.id, t.parent
FROM tenants t
WHERE t.parent IS NOT NULL
    AND t.parent <> 'management'
