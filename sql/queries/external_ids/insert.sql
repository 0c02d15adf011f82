INSERT INTO external_ids (tenant, type, value, object, created_at)
VALUES ($1, $2, $3, $4, now())
