UPDATE users
SET password_hash = $3
WHERE tenant = $1
    AND name = $2
