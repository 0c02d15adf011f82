-- Returns the tenants from before groups existed.
SELECT t.id
FROM tenants t
WHERE NOT EXISTS (SELECT 1 FROM groups g WHERE g.tenant = t.id AND g.name = 'admins')
