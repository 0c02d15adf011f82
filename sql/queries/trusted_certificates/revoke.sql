-- Revokes certificates by their serial numbers and the name of their issuer; those that are revoked already stay as
-- they are.
INSERT INTO revoked_certificates (tenant, authority, issuer, serial, revoked_at, reason)
SELECT $1, $2, $3, given.serial, given.revoked_at, given.reason
FROM unnest($4::text[], $5::timestamptz[], $6::text[]) AS given (serial, revoked_at, reason)
ORDER BY given.serial
ON CONFLICT (tenant, authority, issuer, serial) DO NOTHING
