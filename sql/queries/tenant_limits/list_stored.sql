-- Returns the last measured bytes of tenants ($1).
SELECT u.tenant, u.stored_bytes
FROM tenant_usage u
WHERE u.tenant = ANY($1::text[])
