SELECT
    d.tenant,
    d.fingerprint,
    d.user_name,
    d.authority,
    d.serials[1],
    d.subject,
    d.not_after,
    d.created_at,
    -- A revocation of a certificate above it counts, too.
    (
        SELECT min(r.revoked_at)
        FROM unnest(d.issuers, d.serials) AS link (issuer, serial)
        JOIN revoked_certificates r
            ON r.tenant = d.tenant
            AND r.authority = d.authority
            AND r.issuer = link.issuer
            AND r.serial = link.serial
    ),
    d.number
FROM device_certificates d
WHERE d.tenant = $1
    AND d.fingerprint = $2
