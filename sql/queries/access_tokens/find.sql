-- Returns tenant and user of a token, its scope, the seconds until it expires, negative for an expired one, and whether
-- the user requested it.
SELECT a.tenant, c.user_name, a.scope, extract(epoch FROM a.expires_at - clock_timestamp())::float8, false
FROM access_tokens a
JOIN token_clients c ON c.tenant = a.tenant AND c.id = a.client
WHERE a.hash = $1
UNION ALL
SELECT t.tenant, t.user_name, t.scope, extract(epoch FROM t.expires_at - clock_timestamp())::float8, true
FROM user_tokens t
WHERE t.hash = $1
