-- Deletes tokens of all tenants that expired so long ago that the reason no longer matters. Tokens that another
-- server is deleting are skipped.
DELETE FROM user_tokens
WHERE (tenant, id) IN (
    SELECT tenant, id
    FROM user_tokens
    WHERE expires_at < now() - make_interval(secs => $1)
    ORDER BY expires_at
    LIMIT $2
    FOR UPDATE SKIP LOCKED)
