-- Takes the lease of the modules of a tenant, unless another process holds it.
INSERT INTO module_leases AS l (tenant, process, fence, leased_until, fed_at)
VALUES ($1, $2, 1, now() + make_interval(secs => $3), now())
ON CONFLICT (tenant) DO UPDATE
SET
    process = excluded.process,
    fence = l.fence + 1,
    leased_until = excluded.leased_until,
    fed_at = excluded.fed_at
WHERE l.leased_until < now()
RETURNING l.fence
