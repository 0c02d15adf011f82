-- The stored sessions that have not expired, with the seconds that are left of them.
SELECT client, tenant, state, extract(epoch FROM expires_at - now())::float8
FROM stored_sessions
WHERE expires_at > now()
