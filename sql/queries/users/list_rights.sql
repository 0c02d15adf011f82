-- What users may do who are in action: roles and permissions held directly, and those of groups behind them.
SELECT
    u.name,
    u.roles || ARRAY(
        SELECT unnest(g.roles)
        FROM group_members m
        JOIN groups g ON g.tenant = m.tenant AND g.id = m.group_id
        WHERE m.tenant = u.tenant
            AND m.user_name = u.name),
    array_prepend(u.device_permissions, ARRAY(
        SELECT g.device_permissions
        FROM group_members m
        JOIN groups g ON g.tenant = m.tenant AND g.id = m.group_id
        WHERE m.tenant = u.tenant
            AND m.user_name = u.name))
FROM users u
JOIN tenants t ON t.id = u.tenant
WHERE u.tenant = $1
    AND u.name = ANY($2)
    AND u.enabled
    AND t.status = 'ACTIVE'
