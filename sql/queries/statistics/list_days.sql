-- Returns the statistics of a tenant by day, newest first.
SELECT
    s.day - date '1970-01-01', s.requests, s.device_requests, s.alarms_created, s.alarms_updated, s.events_created,
    s.events_updated, s.inventories_created, s.inventories_updated, s.measurements_created, s.operations_created,
    s.operations_updated, s.notifications_delivered, s.sessions_peak, s.devices, s.devices_with_children,
    s.stored_bytes, s.subscribed_applications
FROM tenant_statistics s
WHERE s.tenant = $1
    AND ($2::integer IS NULL OR s.day >= date '1970-01-01' + $2)
    AND ($3::integer IS NULL OR s.day <= date '1970-01-01' + $3)
    -- After the previous page; null if the page number determines the start.
    AND ($4::integer IS NULL OR s.day < date '1970-01-01' + $4)
ORDER BY s.day DESC
LIMIT $5
OFFSET $6
