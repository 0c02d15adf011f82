-- Notes that this server ($1) hears ($3) or only writes a tenant ($2).
INSERT INTO publication_listeners (tenant, server, hears)
VALUES ($2, $1, $3)
ON CONFLICT (tenant, server) DO UPDATE SET hears = publication_listeners.hears OR excluded.hears
