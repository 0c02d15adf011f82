-- What tenants use at other living servers than this one ($1).
SELECT
    c.tenant,
    sum(c.held_polls)::bigint,
    sum(c.web_sockets)::bigint,
    sum(c.sessions)::bigint
FROM tenant_counts c
JOIN servers s ON s.incarnation = c.server AND s.leased_until > now()
WHERE c.server <> $1
GROUP BY c.tenant
