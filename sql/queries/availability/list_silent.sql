-- Devices that are due, and nobody has raised an alarm for (R-04), by the time they are due. Left out are those whose
-- silence may be the servers' own: since some server listens again, they have not had their interval and a grace ($1,
-- seconds); and those of tenants that may not send.
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
