INSERT INTO modules (tenant, id, name, deployed, deployment, inputs, last_modified, text, warnings)
VALUES ($1, $2, $3, true, 1, $4, $5, $6, $7)
