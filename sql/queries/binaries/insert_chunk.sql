INSERT INTO binary_chunks (tenant, binary_id, number, bytes)
VALUES ($1, $2, $3, $4)
