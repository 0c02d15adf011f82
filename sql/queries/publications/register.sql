-- Extends the lease of this server ($1) to $2 seconds from now, and deletes servers whose lease ended a while ago.
WITH dead AS (
    DELETE FROM publication_servers WHERE server <> $1 AND leased_until < now()
)
INSERT INTO publication_servers (server, leased_until)
VALUES ($1, now() + $2 * interval '1 second')
ON CONFLICT (server) DO UPDATE SET leased_until = excluded.leased_until
RETURNING (xmax = 0) AS is_new
