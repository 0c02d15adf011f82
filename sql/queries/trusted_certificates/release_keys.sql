-- Releases keys for which the tenant has no proven authority any more.
DELETE FROM authority_keys k
WHERE k.tenant = $1
    AND NOT EXISTS (
        SELECT FROM trusted_certificates c
        WHERE c.tenant = k.tenant
            AND c.key_hash = k.key_hash
            AND c.proven
    )
