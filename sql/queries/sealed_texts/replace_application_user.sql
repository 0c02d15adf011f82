-- Replaces the password of a user of a microservice, and its hash if there is a new one.
UPDATE users
SET sealed_password = $4,
    password_hash = coalesce($5, password_hash)
WHERE tenant = $1
    AND application = $2::text::bigint
    AND duty = $3
