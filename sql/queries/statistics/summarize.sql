-- Returns the statistics of tenants over a time: the sums of counts, and the newest value and the peak of
-- measurements. It covers one tenant, or with $4 all tenants that it manages.
SELECT
    t.id, t.domain, t.company, t.parent, t.created_at,
    coalesce(sum(s.requests), 0)::bigint, coalesce(sum(s.device_requests), 0)::bigint,
    coalesce(sum(s.alarms_created), 0)::bigint, coalesce(sum(s.alarms_updated), 0)::bigint,
    coalesce(sum(s.events_created), 0)::bigint, coalesce(sum(s.events_updated), 0)::bigint,
    coalesce(sum(s.inventories_created), 0)::bigint, coalesce(sum(s.inventories_updated), 0)::bigint,
    coalesce(sum(s.measurements_created), 0)::bigint, coalesce(sum(s.operations_created), 0)::bigint,
    coalesce(sum(s.operations_updated), 0)::bigint, coalesce(sum(s.notifications_delivered), 0)::bigint,
    coalesce(max(s.sessions_peak), 0)::bigint,
    newest.devices, newest.devices_with_children, newest.stored_bytes, newest.subscribed_applications,
    max(s.devices), max(s.stored_bytes)
FROM tenants t
LEFT JOIN tenant_statistics s ON s.tenant = t.id
    AND ($2::integer IS NULL OR s.day >= date '1970-01-01' + $2)
    AND ($3::integer IS NULL OR s.day <= date '1970-01-01' + $3)
LEFT JOIN LATERAL (
    SELECT m.devices, m.devices_with_children, m.stored_bytes, m.subscribed_applications
    FROM tenant_statistics m
    WHERE m.tenant = t.id
        AND m.stored_bytes IS NOT NULL
        AND ($2::integer IS NULL OR m.day >= date '1970-01-01' + $2)
        AND ($3::integer IS NULL OR m.day <= date '1970-01-01' + $3)
    ORDER BY m.day DESC
    LIMIT 1
) newest ON true
WHERE CASE WHEN $4 THEN ($1 = 'management' OR t.parent = $1) ELSE t.id = $1 END
GROUP BY t.id, newest.devices, newest.devices_with_children, newest.stored_bytes, newest.subscribed_applications
ORDER BY t.id COLLATE "C"
