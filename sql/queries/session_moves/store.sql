-- Stores sessions: clientIds ($1), tenants ($2), states ($3) and the seconds until they expire ($4). Sessions of
-- deleted tenants are left out. It is part of the caller's transaction.
INSERT INTO stored_sessions (client, tenant, state, expires_at)
SELECT client, tenant, state, now() + lifetime * interval '1 second'
FROM unnest($1::text[], $2::text[], $3::text[], $4::float8[]) AS stored (client, tenant, state, lifetime)
WHERE tenant IN (SELECT id FROM tenants)
ON CONFLICT (client) DO UPDATE SET state = excluded.state, expires_at = excluded.expires_at
