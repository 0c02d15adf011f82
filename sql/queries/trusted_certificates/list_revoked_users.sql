-- Returns the users of the devices whose certificates are among those with these serial numbers, or below them.
SELECT DISTINCT d.user_name
FROM device_certificates d
CROSS JOIN LATERAL unnest(d.issuers, d.serials) AS link (issuer, serial)
WHERE d.tenant = $1
    AND d.authority = $2
    AND link.issuer = $3
    AND link.serial = ANY($4)
