-- Notes which servers ($2) hold these sessions ($1) from now on. A part of the caller's transaction.
INSERT INTO moved_sessions (client, holder)
SELECT client, holder
FROM unnest($1::text[], $2::bigint[]) AS moved (client, holder)
ON CONFLICT (client) DO UPDATE SET holder = excluded.holder
