-- Updates an application. A null key stays unchanged.
UPDATE applications
SET
    name = $3,
    availability = $4,
    key_hash = coalesce($5, key_hash),
    sealed_key = coalesce($6, sealed_key),
    context_path = $7,
    resources_url = $8,
    resources_username = $9,
    sealed_resources_password = CASE WHEN $10 THEN $11 ELSE sealed_resources_password END,
    external_url = $12,
    required_roles = $13,
    roles = $14
WHERE tenant = $1
    AND id = $2
