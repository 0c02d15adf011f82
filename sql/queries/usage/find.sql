-- Returns the usage of a tenant and the bytes by which it has grown per day, since the oldest measured one of the
-- last seven days before today.
SELECT
    u.measured_at, u.devices, u.devices_with_children, u.stored_bytes, u.tables,
    (SELECT (u.stored_bytes - s.stored_bytes)::float8 / greatest((u.measured_at AT TIME ZONE 'UTC')::date - s.day, 1)
        FROM tenant_statistics s
        WHERE s.tenant = u.tenant
            AND s.day >= (u.measured_at AT TIME ZONE 'UTC')::date - 7
            AND s.day < (u.measured_at AT TIME ZONE 'UTC')::date
            AND s.stored_bytes IS NOT NULL
        ORDER BY s.day
        LIMIT 1)
FROM tenant_usage u
WHERE u.tenant = $1
