-- Takes over module leases of all tenants that no process holds, and those of tenants whose events this process
-- receives ($3) while their holder has received none for some seconds ($4).
INSERT INTO module_leases AS l (tenant, process, fence, leased_until, fed_at)
SELECT m.tenant, $1, 1, now() + make_interval(secs => $2), now()
FROM (SELECT DISTINCT tenant FROM modules WHERE deployed) m
JOIN tenants t ON t.id = m.tenant AND t.status = 'ACTIVE'
LEFT JOIN module_leases h ON h.tenant = m.tenant
WHERE h.tenant IS NULL
    OR h.leased_until < now()
    OR (m.tenant = ANY($3::text[]) AND h.process <> $1 AND h.fed_at < now() - make_interval(secs => $4))
ORDER BY m.tenant
LIMIT $5
ON CONFLICT (tenant) DO UPDATE
SET
    process = excluded.process,
    fence = l.fence + 1,
    leased_until = excluded.leased_until,
    fed_at = excluded.fed_at
-- Checked again, because another process may have been faster.
WHERE l.leased_until < now()
    OR (l.tenant = ANY($3::text[]) AND l.fed_at < now() - make_interval(secs => $4))
RETURNING l.tenant, l.fence
