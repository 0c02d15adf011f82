-- Returns the issuer and the serial number by which a certificate of a device is revoked, and its authority and user.
SELECT d.authority, d.issuers[1], d.serials[1], d.user_name
FROM device_certificates d
WHERE d.tenant = $1
    AND d.fingerprint = $2
FOR UPDATE
