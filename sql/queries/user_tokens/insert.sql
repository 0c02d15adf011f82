-- Inserts a token of a user that is enabled and still has the password ($9) or the identity provider ($10) which the
-- request was authenticated with. The lock makes a change of the user wait, so that the change revokes this token too.
INSERT INTO user_tokens
    (tenant, id, user_name, hash, name, scope, created_at, expires_at, ends_at, issuer, subject, provider_session)
SELECT u.tenant, $3, u.name, $4, $5, $6, now(), now() + make_interval(secs => least($7::float8, $8::float8)),
    now() + make_interval(secs => $8::float8), $10, $11, $12
FROM users u
WHERE u.tenant = $1
    AND u.name = $2
    AND u.enabled
    AND (sha256(convert_to(u.password_hash, 'UTF8')) = $9 OR u.identity_provider = $10)
FOR SHARE OF u
RETURNING id, name, scope, created_at, expires_at, ends_at, hash,
    extract(epoch FROM expires_at - clock_timestamp())::float8, issuer
