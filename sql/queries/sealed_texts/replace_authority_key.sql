-- Replaces the private key of a certificate authority.
UPDATE trusted_certificates
SET sealed_key = $3
WHERE tenant = $1
    AND fingerprint = $2
