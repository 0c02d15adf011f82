SELECT u.tenant, u.name, u.password_hash, u.enabled, u.roles, t.status
FROM users u
JOIN tenants t ON t.id = u.tenant
WHERE u.tenant = $1
    AND u.name = $2
