-- Returns the stored sessions that have not expired, with the seconds until they expire.
SELECT client, tenant, state, extract(epoch FROM expires_at - now())::float8
FROM stored_sessions
WHERE expires_at > now()
