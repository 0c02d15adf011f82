-- Notes that the alarm about the end of an authority could not be raised.
UPDATE trusted_certificates
SET warned_at = NULL
WHERE tenant = $1
    AND fingerprint = $2
