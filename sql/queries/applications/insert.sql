INSERT INTO applications (
    tenant, id, name, type, availability, key_hash, sealed_key, context_path, resources_url, resources_username,
    sealed_resources_password, external_url, required_roles, roles, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, now())
