-- Returns devices that are overdue and have no alarm for it (R-04), in the order in which they became due. Two kinds of
-- devices are left out: those that had no full interval and grace period ($1, in seconds) since a server listens again,
-- and those of suspended tenants.
SELECT v.due_at, v.tenant, v.device, v.last_message
FROM availability v
JOIN tenants t ON t.id = v.tenant
CROSS JOIN (
    SELECT to_timestamp(value::float8) AS since
    FROM deployment
    WHERE name = 'availability watched since'
) AS watched
WHERE v.silent_since IS NULL
    AND v.due_at <= now()
    AND (v.due_at, v.tenant, v.device) > ($2, $3, $4)
    AND watched.since + make_interval(mins => v.response_interval, secs => $1) <= now()
    AND t.status = 'ACTIVE'
ORDER BY v.due_at, v.tenant, v.device
LIMIT $5
