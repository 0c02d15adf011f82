INSERT INTO tenants AS t (
    id, domain, company, contact_name, contact_phone, admin_name, admin_email, status, allow_create_tenants,
    storage_limit_per_device, custom_properties, parent, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, now())
RETURNING
    t.id, t.domain, t.company, t.contact_name, t.contact_phone, t.admin_name, t.admin_email, t.status,
    t.allow_create_tenants, t.storage_limit_per_device, t.custom_properties, t.parent, t.created_at
