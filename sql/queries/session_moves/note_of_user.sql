-- Stores the sessions ($3) that a user ($1, $2) has at this server ($4). A deleted tenant gets no row.
INSERT INTO user_sessions (tenant, user_name, server, clients)
SELECT $1, $2, $4, $3
WHERE EXISTS (SELECT FROM tenants WHERE id = $1)
ON CONFLICT (tenant, user_name, server) DO UPDATE SET clients = excluded.clients
