-- Acquires leases of modules of all tenants: those that no process holds; if $6 is true, those whose holder has lost
-- its connection; and those of tenants whose events arrived at this process ($3) while the holder has received none
-- for $4 seconds.
WITH lost AS MATERIALIZED (SELECT session_pid, session_start FROM lost_module_sessions WHERE $6)
INSERT INTO module_leases AS l (tenant, process, fence, leased_until, fed_at, session_pid, session_start)
SELECT m.tenant, $1, 1, now() + make_interval(secs => $2), now(), $7, $8
FROM (SELECT DISTINCT tenant FROM modules WHERE deployed) m
JOIN tenants t ON t.id = m.tenant AND t.status = 'ACTIVE'
LEFT JOIN module_leases h ON h.tenant = m.tenant
WHERE h.tenant IS NULL
    OR h.leased_until < now()
    OR (h.session_pid, h.session_start) IN (SELECT session_pid, session_start FROM lost)
    OR (m.tenant = ANY($3::text[]) AND h.process <> $1 AND h.fed_at < now() - make_interval(secs => $4))
ORDER BY m.tenant
LIMIT $5
ON CONFLICT (tenant) DO UPDATE
SET
    process = excluded.process,
    fence = l.fence + 1,
    leased_until = excluded.leased_until,
    fed_at = excluded.fed_at,
    session_pid = excluded.session_pid,
    session_start = excluded.session_start
-- The conditions are checked again, because another process may have acquired the lease or the holder renewed it.
WHERE l.leased_until < now()
    OR (l.session_pid, l.session_start) IN (SELECT session_pid, session_start FROM lost)
    OR (l.tenant = ANY($3::text[]) AND l.fed_at < now() - make_interval(secs => $4))
RETURNING l.tenant, l.fence
