-- The bytes that tenants ($1) store, as they were measured last.
SELECT u.tenant, u.stored_bytes
FROM tenant_usage u
WHERE u.tenant = ANY($1::text[])
