-- Returns a certificate by which a device has logged in before, and whether it may do so now.
SELECT
    d.tenant,
    d.user_name,
    c.enabled AND c.proven,
    EXISTS (
        SELECT FROM unnest(d.issuers, d.serials) AS link (issuer, serial)
        JOIN revoked_certificates r
            ON r.tenant = d.tenant
            AND r.authority = d.authority
            AND r.issuer = link.issuer
            AND r.serial = link.serial
    ),
    d.not_before,
    d.not_after
FROM device_certificates d
JOIN trusted_certificates c ON c.tenant = d.tenant AND c.fingerprint = d.authority
WHERE d.fingerprint = $1
