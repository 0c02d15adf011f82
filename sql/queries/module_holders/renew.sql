-- Says that a process still runs the modules of these tenants, by this connection, and of which of them something came to it. Those it
-- does not give back were taken over, or their tenant is suspended or gone.
UPDATE module_leases l
SET
    leased_until = now() + make_interval(secs => $4),
    fed_at = CASE WHEN own.fed THEN now() ELSE l.fed_at END,
    session_pid = $5,
    session_start = $6
FROM unnest($1::text[], $2::bigint[], $3::boolean[]) AS own (tenant, fence, fed)
JOIN tenants t ON t.id = own.tenant AND t.status = 'ACTIVE'
WHERE l.tenant = own.tenant
    AND l.fence = own.fence
RETURNING l.tenant
