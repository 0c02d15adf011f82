-- Stores the measurement in the statistics of today.
INSERT INTO tenant_statistics AS s (tenant, day, devices, devices_with_children, stored_bytes, subscribed_applications)
SELECT
    u.tenant, (now() AT TIME ZONE 'UTC')::date, u.devices, u.devices_with_children, u.stored_bytes,
    ARRAY(
        SELECT a.name
        FROM subscriptions b
        JOIN applications a ON a.id = b.application
        WHERE b.tenant = u.tenant
        ORDER BY a.name)
FROM tenant_usage u
-- The order is that in which servers add their counts.
ORDER BY u.tenant
ON CONFLICT (tenant, day) DO UPDATE
SET
    devices = excluded.devices,
    devices_with_children = excluded.devices_with_children,
    stored_bytes = excluded.stored_bytes,
    subscribed_applications = excluded.subscribed_applications
