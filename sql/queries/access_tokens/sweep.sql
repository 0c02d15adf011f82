-- Of all tenants: some of those that expired so long ago that nobody needs to be told so. Those that another server is
-- deleting are passed over.
DELETE FROM access_tokens
WHERE hash IN (
    SELECT hash
    FROM access_tokens
    WHERE expires_at < now() - make_interval(secs => $1)
    ORDER BY expires_at
    LIMIT $2
    FOR UPDATE SKIP LOCKED)
