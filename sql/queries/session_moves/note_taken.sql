-- Records this server ($1) as the holder of the stored sessions, because their clientIds name a server that is gone.
-- It is part of the caller's transaction.
INSERT INTO moved_sessions (client, holder)
SELECT client, $1
FROM stored_sessions
ON CONFLICT (client) DO UPDATE SET holder = excluded.holder
