-- Returns the number of connections that the other living servers may open together, and the number that PostgreSQL
-- accepts from all. A server without any connection has ended, even if its lease has not.
WITH connected AS (
    SELECT right(application_name, 16) AS token FROM pg_stat_activity WHERE datname = current_database()
)
SELECT
    coalesce(sum(s.connections), 0)::bigint,
    current_setting('max_connections')::bigint - current_setting('superuser_reserved_connections')::bigint
FROM servers s
LEFT JOIN publication_servers AS peer ON peer.server = s.incarnation
WHERE s.leased_until > now()
    AND s.slot IS DISTINCT FROM $1
    AND (peer.token IS NULL OR peer.token IN (SELECT token FROM connected))
