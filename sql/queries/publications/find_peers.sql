-- Returns whether another server is registered, whether the transactions of this one ($1) assert, whether the lease of
-- another one ended more than $2 seconds ago, and whether that is also true of one that is not registered. Returns no
-- row if this server is not registered.
SELECT EXISTS (SELECT FROM publication_servers AS other WHERE other.server <> $1),
    asserts,
    EXISTS (
        SELECT
        FROM publication_servers AS other
        WHERE other.server <> $1
            AND other.leased_until < now() - make_interval(secs => $2)),
    EXISTS (
        SELECT
        FROM servers AS other
        WHERE other.incarnation <> $1
            AND other.leased_until > '-infinity'
            AND other.leased_until < now() - make_interval(secs => $2))
FROM publication_servers
WHERE server = $1
