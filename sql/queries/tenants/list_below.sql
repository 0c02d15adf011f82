SELECT
    t.id, t.domain, t.company, t.contact_name, t.contact_phone, t.admin_name, t.admin_email,
    CASE WHEN t.moved_at IS NULL THEN t.status ELSE 'MOVED' END,
    t.allow_create_tenants, t.storage_limit_per_device, t.custom_properties, t.parent, t.created_at
FROM tenants t
-- The tenant of the installation manages all tenants, another one those that it created.
WHERE ($1 = 'management' OR t.parent = $1)
    -- After the previous page; null if the page number determines the start.
    AND ($2::text IS NULL OR t.id COLLATE "C" > $2)
-- The same order for every locale of the database.
ORDER BY t.id COLLATE "C"
LIMIT $3
OFFSET $4
