-- Deletes the tokens of a user beyond the number that it may have, those that end first.
DELETE FROM user_tokens
WHERE tenant = $1
    AND id IN (
        SELECT id
        FROM user_tokens
        WHERE tenant = $1
            AND user_name = $2
        ORDER BY expires_at DESC, id
        OFFSET $3)
RETURNING id
