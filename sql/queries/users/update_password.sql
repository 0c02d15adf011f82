UPDATE users
SET password_hash = $3,
    password_changed_at = now()
WHERE tenant = $1
    AND name = $2
    -- A user of a microservice keeps the password that the microservice knows.
    AND application IS NULL
