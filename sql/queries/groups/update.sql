UPDATE groups
SET name = $3,
    description = $4,
    device_permissions = $5
WHERE tenant = $1
    AND id = $2
