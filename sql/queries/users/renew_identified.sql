-- Notes a token of a user that was issued at $4, unless there was a newer one.
UPDATE users
SET identity_provider = $3, identified_at = to_timestamp($4)
WHERE tenant = $1
    AND name = $2
    AND (identified_at IS NULL OR identified_at <= to_timestamp($4))
