DELETE FROM limit_tokens
WHERE hash IN (
    SELECT hash
    FROM limit_tokens
    WHERE expires_at < now()
    ORDER BY expires_at
    LIMIT $1
    FOR UPDATE SKIP LOCKED)
