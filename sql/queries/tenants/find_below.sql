-- A tenant as one that looks after it sees it.
SELECT
    t.id, t.domain, t.company, t.contact_name, t.contact_phone, t.admin_name, t.admin_email, t.status,
    t.allow_create_tenants, t.storage_limit_per_device, t.custom_properties, t.parent, t.created_at
FROM tenants t
WHERE t.id = $2
    -- Everything is below the tenant of the installation; below another what it created.
    AND ($1 = 'management' OR t.parent = $1)
