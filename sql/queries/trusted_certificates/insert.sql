-- Inserts an authority, unless the tenant has the certificate already or too many.
INSERT INTO trusted_certificates (
    tenant, fingerprint, name, enabled, registers, id_source, issued_days, certificate, subject, issuer, serial,
    not_before, not_after, subject_hash, key_hash, proven, sealed_key, created_at
)
SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, false, $16, now()
WHERE (SELECT count(*) FROM trusted_certificates c WHERE c.tenant = $1) < $17
ON CONFLICT (tenant, fingerprint) DO NOTHING
