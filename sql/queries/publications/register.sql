-- Extends the lease of this server ($1, $2) to $3 seconds from now, and deletes servers whose lease ended. A new server
-- asserts from the beginning if there are others. The caller has locked the table if the server may be new.
WITH dead AS (
    DELETE FROM publication_servers WHERE server <> $1 AND leased_until < now() RETURNING server
)
INSERT INTO publication_servers (server, token, leased_until, asserts)
SELECT $1, $2, now() + $3 * interval '1 second', EXISTS (
    SELECT FROM publication_servers WHERE server <> $1 AND server NOT IN (SELECT server FROM dead)
)
ON CONFLICT (server) DO UPDATE SET leased_until = excluded.leased_until
RETURNING (xmax = 0) AS is_new
