-- Lists the valid tokens of a user, newest first.
SELECT id, name, scope, created_at, expires_at, ends_at, hash,
    extract(epoch FROM expires_at - clock_timestamp())::float8, issuer
FROM user_tokens
WHERE tenant = $1
    AND user_name = $2
    AND expires_at > clock_timestamp()
ORDER BY created_at DESC, id
