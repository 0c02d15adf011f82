UPDATE trusted_certificates
SET
    proven = true,
    code = NULL,
    code_until = NULL
WHERE tenant = $1
    AND fingerprint = $2
