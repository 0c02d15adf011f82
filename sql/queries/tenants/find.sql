SELECT
    t.id, t.domain, t.company, t.contact_name, t.contact_phone, t.admin_name, t.admin_email,
    CASE WHEN t.moved_at IS NULL THEN t.status ELSE 'MOVED' END,
    t.allow_create_tenants, t.storage_limit_per_device, t.custom_properties, t.parent, t.created_at
FROM tenants t
WHERE t.id = $1
