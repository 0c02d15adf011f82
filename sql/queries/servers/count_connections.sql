-- Returns how many connections the other living servers may open together, and how many PostgreSQL accepts from all.
SELECT
    coalesce(sum(s.connections), 0)::bigint,
    current_setting('max_connections')::bigint - current_setting('superuser_reserved_connections')::bigint
FROM servers s
WHERE s.leased_until > now()
    AND s.slot IS DISTINCT FROM $1
