-- Tenants below one that goes are below the one above it from now on.
UPDATE tenants t
SET parent = gone.parent
FROM tenants gone
WHERE gone.id = $1
    AND t.parent = gone.id
