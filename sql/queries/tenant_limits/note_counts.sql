-- Stores the usage of tenants ($2) at this server ($1). Deleted tenants are left out.
INSERT INTO tenant_counts (tenant, server, held_polls, web_sockets, sessions)
SELECT noted.tenant, $1, noted.held_polls, noted.web_sockets, noted.sessions
FROM unnest($2::text[], $3::bigint[], $4::bigint[], $5::bigint[])
    AS noted (tenant, held_polls, web_sockets, sessions)
JOIN tenants ON tenants.id = noted.tenant
ORDER BY noted.tenant
ON CONFLICT (tenant, server) DO UPDATE SET
    held_polls = excluded.held_polls,
    web_sockets = excluded.web_sockets,
    sessions = excluded.sessions
