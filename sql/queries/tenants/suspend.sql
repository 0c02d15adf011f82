-- Suspends a tenant before it is deleted.
UPDATE tenants
SET status = 'SUSPENDED'
WHERE id = $1
