-- Sets the password of the user that was created with the tenant.
UPDATE users u
SET
    password_hash = $2,
    password_changed_at = now()
FROM tenants t
WHERE t.id = $1
    AND u.tenant = t.id
    AND u.name = t.admin_name
    -- A microservice may have got the name of a deleted user.
    AND u.application IS NULL
