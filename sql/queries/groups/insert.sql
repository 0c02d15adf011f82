-- Inserts a group. A counter of the tenant assigns its number, so that no number is used twice (C-13).
WITH numbered AS (
    UPDATE tenants
    SET last_group = last_group + 1
    WHERE id = $1
    RETURNING id, last_group
)
INSERT INTO groups (tenant, id, name, description, roles, device_permissions, second_factor_required)
SELECT id, last_group, $2, $3, $4, $5, $6
FROM numbered
RETURNING id
