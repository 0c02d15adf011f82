-- Deletes tokens of all tenants that are refused as expired anyway. Those that another server is deleting are skipped.
DELETE FROM spent_tokens
WHERE (tenant, hash) IN (
    SELECT tenant, hash
    FROM spent_tokens
    WHERE expires_at < now()
    ORDER BY expires_at
    LIMIT $1
    FOR UPDATE SKIP LOCKED)
