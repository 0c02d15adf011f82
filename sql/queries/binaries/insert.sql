INSERT INTO binaries (tenant, id, created_at)
VALUES ($1, $2, now())
