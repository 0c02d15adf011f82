-- Stores a token with the current scope of its client, or none when the client was deleted meanwhile.
INSERT INTO access_tokens (tenant, hash, client, scope, issued_at, expires_at)
SELECT tenant, $3, id, scope, now(), now() + make_interval(secs => $4)
FROM token_clients
WHERE tenant = $1
    AND id = $2
FOR KEY SHARE
RETURNING scope, issued_at
