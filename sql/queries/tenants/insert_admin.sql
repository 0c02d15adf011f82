-- The first user of a tenant, as part of the transaction that creates it.
INSERT INTO users (tenant, name, password_hash, enabled, roles, email, created_at)
VALUES ($1, $2, $3, $4, $5, $6, now())
