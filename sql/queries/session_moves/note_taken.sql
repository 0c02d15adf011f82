-- Notes that this server ($1) holds the stored sessions. Their clientIds name a server that is gone. A part of the
-- caller's transaction.
INSERT INTO moved_sessions (client, holder)
SELECT client, $1
FROM stored_sessions
ON CONFLICT (client) DO UPDATE SET holder = excluded.holder
