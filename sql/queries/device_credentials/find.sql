-- Returns the request of a device that polls for its credentials. The device does not know its tenant, and device ids
-- are unique in the deployment. The bootstrap user of a tenant other than that of the installation sees only its own
-- tenant ($2).
SELECT r.tenant, r.status, r.sealed_password, u.password_hash
FROM new_device_requests r
JOIN tenants t ON t.id = r.tenant
LEFT JOIN users u ON u.tenant = r.tenant AND u.name = 'device_' || r.id
WHERE r.id = $1
    AND ($2::text IS NULL OR r.tenant = $2)
    -- Requests of a suspended tenant are not served.
    AND t.status = 'ACTIVE'
    -- A device that gets a certificate gets no password (C-30).
    AND r.enrollment_hash IS NULL
    AND (r.credentials_until IS NULL OR r.credentials_until > now())
