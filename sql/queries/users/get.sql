-- Returns a user as a response shows it, with its groups.
SELECT
    u.name, u.enabled, u.first_name, u.last_name, u.display_name, u.phone, u.email, u.owner, u.custom_properties,
    u.device_permissions, u.roles, u.password_changed_at,
    ARRAY(
        SELECT json_build_array(g.id, g.name, g.description, g.device_permissions, g.second_factor_required)
        FROM group_members m
        JOIN groups g ON g.tenant = m.tenant AND g.id = m.group_id
        WHERE m.tenant = u.tenant
            AND m.user_name = u.name
        ORDER BY g.id),
    EXISTS (
        SELECT 1
        FROM second_factors f
        WHERE f.tenant = u.tenant
            AND f.user_name = u.name
            AND f.active)
FROM users u
WHERE u.tenant = $1
    AND u.name = $2
