-- Returns whether a user may be removed: it is not an administrator, or not the last one who can log in (U-15).
SELECT
    NOT EXISTS (
        SELECT 1
        FROM groups g
        JOIN group_members m ON m.tenant = g.tenant AND m.group_id = g.id
        WHERE g.tenant = $1
            AND g.name = 'admins'
            AND m.user_name = $2)
    OR EXISTS (
        SELECT 1
        FROM groups g
        JOIN group_members m ON m.tenant = g.tenant AND m.group_id = g.id
        JOIN users u ON u.tenant = m.tenant AND u.name = m.user_name
        WHERE g.tenant = $1
            AND g.name = 'admins'
            AND m.user_name <> $2
            AND u.enabled
            AND u.password_hash IS NOT NULL)
