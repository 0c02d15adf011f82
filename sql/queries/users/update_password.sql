UPDATE users
SET password_hash = $3,
    password_changed_at = now()
WHERE tenant = $1
    AND name = $2
