-- Makes the parent of a deleted tenant the parent of its sub-tenants.
UPDATE tenants t
SET parent = gone.parent
FROM tenants gone
WHERE gone.id = $1
    AND t.parent = gone.id
