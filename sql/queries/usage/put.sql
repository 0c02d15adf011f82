-- Stores the usage of tenants. Every tenant has a row, also one that uses nothing.
INSERT INTO tenant_usage (tenant, measured_at, devices, devices_with_children, stored_bytes, tables)
SELECT
    t.id, now(),
    coalesce(u.devices, 0), coalesce(u.devices_with_children, 0), coalesce(u.stored_bytes, 0),
    coalesce(u.tables, '{}')
FROM tenants t
LEFT JOIN unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::jsonb[])
    AS u (tenant, devices, devices_with_children, stored_bytes, tables) ON u.tenant = t.id
ON CONFLICT (tenant) DO UPDATE
SET
    measured_at = excluded.measured_at,
    devices = excluded.devices,
    devices_with_children = excluded.devices_with_children,
    stored_bytes = excluded.stored_bytes,
    tables = excluded.tables
