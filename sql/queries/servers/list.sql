-- Lists the servers that hold a slot, and those that are gone without having given it back.
SELECT
    s.slot,
    s.name,
    s.version,
    s.address,
    CASE WHEN s.leased_until < now() THEN 'GONE' ELSE s.state END,
    s.started_at,
    extract(epoch FROM now() - s.started_at)::float8,
    s.leased_until,
    extract(epoch FROM s.leased_until - now())::float8,
    s.connections
FROM servers s
WHERE s.leased_until > '-infinity'
ORDER BY s.slot
