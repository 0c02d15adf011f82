-- Does the same as find.sql and locks the authority until the transaction ends.
SELECT c.tenant, c.fingerprint, c.number, c.name, c.enabled, c.registers, c.id_source, c.issued_days, c.certificate,
    c.subject, c.issuer, c.serial, c.not_before, c.not_after, c.subject_hash, c.key_hash, c.proven, c.code,
    c.code_until, c.sealed_key IS NOT NULL
FROM trusted_certificates c
WHERE c.tenant = $1
    AND c.fingerprint = $2
FOR UPDATE
