-- Returns the identity provider of a user, the names of its groups, and whether a token that was issued at $3 is newer
-- than all others of the user.
SELECT
    u.identity_provider,
    ARRAY(
        SELECT g.name
        FROM group_members m
        JOIN groups g ON g.tenant = m.tenant AND g.id = m.group_id
        WHERE m.tenant = u.tenant
            AND m.user_name = u.name),
    u.identified_at IS NULL OR u.identified_at < to_timestamp($3)
FROM users u
WHERE u.tenant = $1
    AND u.name = $2
