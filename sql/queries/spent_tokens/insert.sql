-- Notes a token for $3 seconds. It inserts nothing if the token was noted before.
INSERT INTO spent_tokens (tenant, hash, expires_at)
VALUES ($1, $2, now() + make_interval(secs => $3::float8))
ON CONFLICT DO NOTHING
