-- Returns users for authentication: roles and permissions held directly, followed by those of their groups.
SELECT
    u.tenant, u.name, u.password_hash, u.enabled,
    CASE WHEN t.moved_at IS NULL THEN t.status ELSE 'MOVED' END,
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
            AND m.user_name = u.name)),
    -- The time until which the credentials of a device that has not used them yet are returned again (N-08).
    CASE WHEN starts_with(u.name, 'device_') THEN (
        SELECT r.credentials_until
        FROM new_device_requests r
        WHERE r.tenant = u.tenant
            AND r.id = substr(u.name, length('device_') + 1)
    ) END,
    u.application, u.duty,
    -- Only people have second factors (C-27).
    CASE
        WHEN u.application IS NOT NULL OR starts_with(u.name, 'device_') THEN NULL
        WHEN EXISTS (
            SELECT 1
            FROM second_factors f
            WHERE f.tenant = u.tenant
                AND f.user_name = u.name
                AND f.active) THEN 'ACTIVE'
        WHEN u.password_hash IS NOT NULL AND EXISTS (
            SELECT 1
            FROM group_members m
            JOIN groups g ON g.tenant = m.tenant AND g.id = m.group_id
            WHERE m.tenant = u.tenant
                AND m.user_name = u.name
                AND g.second_factor_required) THEN 'OWED'
    END
FROM unnest($1::text[], $2::text[]) AS asked (tenant, name)
JOIN users u ON u.tenant = asked.tenant AND u.name = asked.name
JOIN tenants t ON t.id = u.tenant
