SELECT
    t.id, t.domain, t.company, t.contact_name, t.contact_phone, t.admin_name, t.admin_email, t.status,
    t.allow_create_tenants, t.storage_limit_per_device, t.custom_properties, t.parent, t.created_at
FROM tenants t
-- Everything is below the tenant of the installation; below another what it created.
WHERE ($1 = 'management' OR t.parent = $1)
    -- Behind the page before; null where the number of the page says where it begins.
    AND ($2::text IS NULL OR t.id COLLATE "C" > $2)
-- The same order whatever the locale of the database.
ORDER BY t.id COLLATE "C"
LIMIT $3
OFFSET $4
