-- Notes a token of a user that was issued at $4, unless there was a newer one. A user of another issuer ($3), or who
-- was created otherwise, stays as it is; $5 says that this transaction has created the user.
UPDATE users
SET identity_provider = $3, identified_at = to_timestamp($4)
WHERE tenant = $1
    AND name = $2
    AND (identified_at IS NULL OR identified_at <= to_timestamp($4))
    AND (identity_provider = $3 OR identity_provider IS NULL AND $5)
