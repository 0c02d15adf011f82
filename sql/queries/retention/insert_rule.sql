INSERT INTO retention_rules (tenant, id, data_type, fragment_type, type, source, maximum_age)
VALUES ($1, $2, $3, $4, $5, $6, $7)
