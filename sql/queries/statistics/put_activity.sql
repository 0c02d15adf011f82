-- Replaces the activity of tenants at a server.
INSERT INTO tenant_activity (
    tenant, server, measured_at, sessions, polls, sockets, queued, requests, writes, deliveries)
SELECT u.tenant, $1, now(), u.sessions, u.polls, u.sockets, u.queued, u.requests, u.writes, u.deliveries
FROM unnest(
    $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::float8[], $8::float8[], $9::float8[]
) AS u (tenant, sessions, polls, sockets, queued, requests, writes, deliveries)
JOIN tenants t ON t.id = u.tenant
ORDER BY u.tenant
ON CONFLICT (tenant, server) DO UPDATE
SET
    measured_at = excluded.measured_at,
    sessions = excluded.sessions,
    polls = excluded.polls,
    sockets = excluded.sockets,
    queued = excluded.queued,
    requests = excluded.requests,
    writes = excluded.writes,
    deliveries = excluded.deliveries
