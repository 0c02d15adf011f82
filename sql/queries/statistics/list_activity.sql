-- Returns the activity of a tenant at all servers and, if $2, that of the tenants that it manages, the busiest first.
-- $3 selects one of these tenants.
SELECT
    a.tenant, sum(a.sessions)::bigint, sum(a.polls)::bigint, sum(a.sockets)::bigint, sum(a.queued)::bigint,
    sum(a.requests), sum(a.writes), sum(a.deliveries),
    array_agg(coalesce(s.name, a.server::text) ORDER BY s.name)
FROM tenant_activity a
JOIN tenants t ON t.id = a.tenant
LEFT JOIN servers s ON s.incarnation = a.server
WHERE (a.tenant = $1 OR ($2 AND ($1 = 'management' OR t.parent = $1)))
    AND ($3::text IS NULL OR a.tenant = $3)
    AND a.measured_at > now() - make_interval(secs => $4)
GROUP BY a.tenant
ORDER BY sum(a.requests) + sum(a.writes) + sum(a.deliveries) DESC, sum(a.sessions) DESC, a.tenant
LIMIT $5
