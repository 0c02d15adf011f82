-- Updates a user. The password stays unchanged if none is given.
UPDATE users
SET password_hash = coalesce($3, password_hash),
    password_changed_at = CASE WHEN $3 IS NULL THEN password_changed_at ELSE now() END,
    enabled = $4,
    first_name = $5,
    last_name = $6,
    display_name = $7,
    phone = $8,
    email = $9,
    owner = $10,
    custom_properties = $11,
    device_permissions = $12
WHERE tenant = $1
    AND name = $2
