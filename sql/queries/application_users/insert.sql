-- Inserts a user of a microservice, unless the name is in use.
INSERT INTO users (tenant, name, password_hash, sealed_password, enabled, roles, application, duty, created_at)
VALUES ($1, $2, $3, $4, true, $5, $6, $7, now())
ON CONFLICT (tenant, name) DO NOTHING
