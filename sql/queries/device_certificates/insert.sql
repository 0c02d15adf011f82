-- Stores a verified certificate of a device, if the device has a user.
INSERT INTO device_certificates (
    tenant, fingerprint, user_name, authority, issuers, serials, subject, not_before, not_after, created_at
)
SELECT u.tenant, $2, u.name, $4, $5, $6, $7, $8, $9, now()
FROM users u
WHERE u.tenant = $1
    AND u.name = $3
ON CONFLICT (tenant, fingerprint) DO NOTHING
