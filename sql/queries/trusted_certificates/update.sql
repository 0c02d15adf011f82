UPDATE trusted_certificates
SET
    name = $3,
    enabled = $4,
    registers = $5,
    issued_days = $6
WHERE tenant = $1
    AND fingerprint = $2
