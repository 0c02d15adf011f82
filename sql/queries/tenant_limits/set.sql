INSERT INTO tenant_limits (tenant, name, value)
VALUES ($1, $2, $3)
ON CONFLICT (tenant, name) DO UPDATE SET value = excluded.value
