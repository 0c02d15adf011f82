-- Acquires leases of modules of all tenants: those that no process holds, and if $4 is true, those whose holder has
-- lost its connection. Also returns whether the former holder gave the lease back; null when there was none.
WITH lost AS MATERIALIZED (SELECT session_pid, session_start FROM lost_module_sessions WHERE $4)
INSERT INTO module_leases AS l (tenant, process, fence, leased_until, session_pid, session_start)
SELECT m.tenant, $1, 1, now() + make_interval(secs => $2), $5, $6
FROM (SELECT DISTINCT tenant FROM modules WHERE deployed) m
JOIN tenants t ON t.id = m.tenant AND t.status = 'ACTIVE'
LEFT JOIN module_leases h ON h.tenant = m.tenant
WHERE h.tenant IS NULL
    OR h.leased_until < now()
    OR (h.session_pid, h.session_start) IN (SELECT session_pid, session_start FROM lost)
ORDER BY m.tenant
LIMIT $3
ON CONFLICT (tenant) DO UPDATE
SET
    process = excluded.process,
    fence = l.fence + 1,
    leased_until = excluded.leased_until,
    session_pid = excluded.session_pid,
    session_start = excluded.session_start
-- The conditions are checked again, because another process may have acquired the lease or the holder renewed it.
WHERE l.leased_until < now()
    OR (l.session_pid, l.session_start) IN (SELECT session_pid, session_start FROM lost)
-- The subquery reads the row as it was before this statement.
RETURNING l.tenant, l.fence, (SELECT o.leased_until = '-infinity' FROM module_leases o WHERE o.tenant = l.tenant)
