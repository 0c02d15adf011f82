-- Returns every text that is sealed under the secret key of the deployment, with the names of its place.
SELECT 'option' AS kind, o.tenant, o.category AS name, o.key AS part, o.value AS sealed
FROM options o
WHERE starts_with(o.key, $1)
UNION ALL
SELECT 'device credentials', r.tenant, r.id, '', r.sealed_password
FROM new_device_requests r
WHERE r.sealed_password IS NOT NULL
UNION ALL
SELECT 'application key', a.tenant, a.id::text, '', a.sealed_key
FROM applications a
UNION ALL
SELECT 'resources password', a.tenant, a.id::text, '', a.sealed_resources_password
FROM applications a
WHERE a.sealed_resources_password IS NOT NULL
UNION ALL
SELECT 'application user', u.tenant, u.application::text, u.duty, u.sealed_password
FROM users u
WHERE u.sealed_password IS NOT NULL
UNION ALL
SELECT 'second factor', f.tenant, f.user_name, '', f.sealed_secret
FROM second_factors f
UNION ALL
SELECT 'authority key', c.tenant, c.fingerprint, '', c.sealed_key
FROM trusted_certificates c
WHERE c.sealed_key IS NOT NULL
