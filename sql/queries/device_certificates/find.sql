-- Returns certificates by which devices have logged in before, and whether they may do so now.
SELECT
    d.fingerprint,
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
WHERE d.fingerprint = ANY($1)
