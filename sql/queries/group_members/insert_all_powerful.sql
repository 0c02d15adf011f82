-- Adds the administrators from before groups existed, who hold every role directly. The bootstrap user is not one of
-- them.
INSERT INTO group_members (tenant, group_id, user_name)
SELECT u.tenant, $2, u.name
FROM users u
WHERE u.tenant = $1
    AND u.roles @> $3
ON CONFLICT DO NOTHING
