-- Stores the new holders ($2) of these sessions ($1). It is part of the caller's transaction.
INSERT INTO moved_sessions (client, holder)
SELECT client, holder
FROM unnest($1::text[], $2::bigint[]) AS moved (client, holder)
ON CONFLICT (client) DO UPDATE SET holder = excluded.holder
