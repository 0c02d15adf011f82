-- Adds a batch of counts to the statistics of tenants and days, unless it was added already.
WITH fresh AS (
    INSERT INTO statistics_batches (server, batch)
    VALUES ($1, $2)
    ON CONFLICT (server) DO UPDATE
    SET
        batch = excluded.batch,
        added_at = now()
    WHERE statistics_batches.batch < excluded.batch
    RETURNING 1
)
INSERT INTO tenant_statistics AS s (
    tenant, day, requests, device_requests, alarms_created, alarms_updated, events_created, events_updated,
    inventories_created, inventories_updated, measurements_created, operations_created, operations_updated,
    notifications_delivered, sessions_peak)
SELECT
    c.tenant, c.day, c.counts[1], c.counts[2], c.counts[3], c.counts[4], c.counts[5], c.counts[6], c.counts[7],
    c.counts[8], c.counts[9], c.counts[10], c.counts[11], c.counts[12],
    -- The sessions of all servers, as far as they are stored.
    CASE WHEN c.peak > 0 THEN
        c.peak + coalesce((
            SELECT sum(a.sessions)
            FROM tenant_activity a
            WHERE a.tenant = c.tenant
                AND a.server <> $1
                AND a.measured_at > now() - make_interval(secs => $6)), 0)
    ELSE 0 END
FROM (
    SELECT tenant, date '1970-01-01' + day AS day, string_to_array(counts, ' ')::bigint[] AS counts, peak
    FROM unnest($3::text[], $4::integer[], $5::text[], $7::bigint[]) AS u (tenant, day, counts, peak)
) c
-- Deleted tenants are left out.
JOIN tenants t ON t.id = c.tenant
WHERE EXISTS (SELECT FROM fresh)
-- All servers lock the rows in this order, so that they cannot deadlock.
ORDER BY c.tenant, c.day
ON CONFLICT (tenant, day) DO UPDATE
SET
    requests = s.requests + excluded.requests,
    device_requests = s.device_requests + excluded.device_requests,
    alarms_created = s.alarms_created + excluded.alarms_created,
    alarms_updated = s.alarms_updated + excluded.alarms_updated,
    events_created = s.events_created + excluded.events_created,
    events_updated = s.events_updated + excluded.events_updated,
    inventories_created = s.inventories_created + excluded.inventories_created,
    inventories_updated = s.inventories_updated + excluded.inventories_updated,
    measurements_created = s.measurements_created + excluded.measurements_created,
    operations_created = s.operations_created + excluded.operations_created,
    operations_updated = s.operations_updated + excluded.operations_updated,
    notifications_delivered = s.notifications_delivered + excluded.notifications_delivered,
    sessions_peak = greatest(s.sessions_peak, excluded.sessions_peak)
