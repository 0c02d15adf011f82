-- Updates only the members of a PUT and returns also the previous status, domain and right to create tenants.
WITH before AS (
    SELECT b.id, CASE WHEN b.moved_at IS NULL THEN b.status ELSE 'MOVED' END AS status, b.domain, b.allow_create_tenants
    FROM tenants b
    WHERE b.id = $2
        -- The tenant of the installation manages all tenants, another one those that it created.
        AND ($1 = 'management' OR b.parent = $1)
    FOR UPDATE
)
UPDATE tenants t
SET
    domain = coalesce($3, t.domain),
    company = coalesce($4, t.company),
    contact_name = CASE WHEN $5 THEN $6 ELSE t.contact_name END,
    contact_phone = CASE WHEN $7 THEN $8 ELSE t.contact_phone END,
    admin_email = CASE WHEN $9 THEN $10 ELSE t.admin_email END,
    status = coalesce($11, t.status),
    allow_create_tenants = coalesce($12, t.allow_create_tenants),
    storage_limit_per_device = coalesce($13, t.storage_limit_per_device),
    custom_properties = coalesce($14, t.custom_properties)
FROM before
WHERE t.id = before.id
RETURNING
    t.id, t.domain, t.company, t.contact_name, t.contact_phone, t.admin_name, t.admin_email,
    CASE WHEN t.moved_at IS NULL THEN t.status ELSE 'MOVED' END,
    t.allow_create_tenants, t.storage_limit_per_device, t.custom_properties, t.parent, t.created_at,
    before.status, before.domain, before.allow_create_tenants
