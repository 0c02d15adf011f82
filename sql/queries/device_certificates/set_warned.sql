-- Notes whether there is an alarm about the end of a certificate.
UPDATE device_certificates
SET warned_at = CASE WHEN $3 THEN now() END
WHERE tenant = $1
    AND fingerprint = $2
