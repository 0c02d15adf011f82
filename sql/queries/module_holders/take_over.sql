-- Takes on modules, of whatever tenant, that nobody runs; and those of which something came to this process ($3) while nothing
-- came to the one that runs them for some seconds ($4).
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
-- Once more: another process may have been quicker.
WHERE l.leased_until < now()
    OR (l.tenant = ANY($3::text[]) AND l.fed_at < now() - make_interval(secs => $4))
RETURNING l.tenant, l.fence
