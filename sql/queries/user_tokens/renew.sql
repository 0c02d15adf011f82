-- Extends a valid token, up to its end. One that lasts longer already stays as it is.
UPDATE user_tokens
SET expires_at = greatest(expires_at, least(now() + make_interval(secs => $4::float8), ends_at))
WHERE tenant = $1
    AND user_name = $2
    AND id = $3
    AND expires_at > clock_timestamp()
RETURNING id, name, scope, created_at, expires_at, ends_at, hash,
    extract(epoch FROM expires_at - clock_timestamp())::float8, issuer
