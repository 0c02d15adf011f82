-- Whose token it is, and for how many seconds yet: none for one that expired.
SELECT a.tenant, c.user_name, a.scope, extract(epoch FROM a.expires_at - clock_timestamp())::float8
FROM access_tokens a
JOIN token_clients c ON c.tenant = a.tenant AND c.id = a.client
WHERE a.hash = $1
