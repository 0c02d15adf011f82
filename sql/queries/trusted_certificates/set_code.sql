UPDATE trusted_certificates
SET
    code = $3,
    code_until = now() + make_interval(secs => $4)
WHERE tenant = $1
    AND fingerprint = $2
    AND NOT proven
