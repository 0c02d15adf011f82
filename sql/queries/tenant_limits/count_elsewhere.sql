-- Returns the usage of tenants at the other living servers ($1 is this one).
SELECT
    c.tenant,
    sum(c.held_polls)::bigint,
    sum(c.web_sockets)::bigint,
    sum(c.sessions)::bigint
FROM tenant_counts c
JOIN servers s ON s.incarnation = c.server AND s.leased_until > now()
WHERE c.server <> $1
GROUP BY c.tenant
