-- Returns the authorities of a tenant that the platform made, the newest first.
SELECT c.tenant, c.fingerprint, c.number, c.name, c.enabled, c.registers, c.id_source, c.issued_days, c.certificate,
    c.subject, c.issuer, c.serial, c.not_before, c.not_after, c.subject_hash, c.key_hash, c.proven, c.code,
    c.code_until, c.sealed_key IS NOT NULL,
    c.sealed_key
FROM trusted_certificates c
WHERE c.tenant = $1
    AND c.sealed_key IS NOT NULL
    AND c.enabled
    AND c.not_after > now()
ORDER BY c.number DESC
