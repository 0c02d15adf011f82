-- Notes that a tenant has proven to have a key. Returns a row if no other tenant has.
INSERT INTO authority_keys AS k (key_hash, tenant)
VALUES ($2, $1)
ON CONFLICT (key_hash) DO UPDATE SET tenant = excluded.tenant
WHERE k.tenant = excluded.tenant
RETURNING k.tenant
