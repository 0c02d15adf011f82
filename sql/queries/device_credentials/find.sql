-- The request of a device that asks for its credentials. The device does not know its tenant, and ids are given once in the
-- deployment; a bootstrap user of another tenant than that of the installation sees its own alone ($2).
SELECT r.tenant, r.status, r.sealed_password, u.password_hash
FROM new_device_requests r
JOIN tenants t ON t.id = r.tenant
LEFT JOIN users u ON u.tenant = r.tenant AND u.name = 'device_' || r.id
WHERE r.id = $1
    AND ($2::text IS NULL OR r.tenant = $2)
    -- Of a suspended tenant nobody is served.
    AND t.status = 'ACTIVE'
    AND (r.credentials_until IS NULL OR r.credentials_until > now())
