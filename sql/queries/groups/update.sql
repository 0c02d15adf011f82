UPDATE groups
SET name = $3,
    description = $4,
    device_permissions = $5,
    second_factor_required = $6
WHERE tenant = $1
    AND id = $2
