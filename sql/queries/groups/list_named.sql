SELECT g.id, g.name, g.description, g.roles, g.device_permissions, g.second_factor_required
FROM groups g
WHERE g.tenant = $1
    AND g.name = ANY($2::text[])
