INSERT INTO users (tenant, name, password_hash, enabled, roles, created_at)
VALUES ($1, $2, $3, $4, $5, now())
