-- Returns tenant and user of a token, and the seconds until it expires, negative for an expired one.
SELECT a.tenant, c.user_name, a.scope, extract(epoch FROM a.expires_at - clock_timestamp())::float8
FROM access_tokens a
JOIN token_clients c ON c.tenant = a.tenant AND c.id = a.client
WHERE a.hash = $1
