-- Deletes tokens of a user: the one with this id, or all without an id.
DELETE FROM user_tokens
WHERE tenant = $1
    AND user_name = $2
    AND ($3::text IS NULL OR id = $3)
RETURNING id
