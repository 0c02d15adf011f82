INSERT INTO limit_tokens (hash, account, expires_at)
VALUES ($1, $2, now() + make_interval(secs => $3))
