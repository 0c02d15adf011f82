-- Acquires the lease of the modules of a tenant, unless another process holds it.
INSERT INTO module_leases AS l (tenant, process, fence, leased_until, session_pid, session_start)
VALUES ($1, $2, 1, now() + make_interval(secs => $3), $4, $5)
ON CONFLICT (tenant) DO UPDATE
SET
    process = excluded.process,
    fence = l.fence + 1,
    leased_until = excluded.leased_until,
    session_pid = excluded.session_pid,
    session_start = excluded.session_start
WHERE l.leased_until < now()
    OR (l.session_pid, l.session_start) IN (SELECT session_pid, session_start FROM lost_module_sessions)
RETURNING l.fence
