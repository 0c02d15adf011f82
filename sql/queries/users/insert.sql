INSERT INTO users (
    tenant, name, password_hash, enabled, roles, first_name, last_name, display_name, phone, email, owner,
    custom_properties, device_permissions, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, now())
