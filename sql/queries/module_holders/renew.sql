-- Renews the leases of a process on the modules of these tenants. Leases that are not returned were taken over, or
-- their tenant is suspended or deleted.
UPDATE module_leases l
SET
    leased_until = now() + make_interval(secs => $3),
    session_pid = $4,
    session_start = $5
FROM unnest($1::text[], $2::bigint[]) AS own (tenant, fence)
JOIN tenants t ON t.id = own.tenant AND t.status = 'ACTIVE'
WHERE l.tenant = own.tenant
    AND l.fence = own.fence
RETURNING l.tenant
