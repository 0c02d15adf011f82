-- Administrators from before there were groups hold every role directly; the bootstrap user is none of them.
INSERT INTO group_members (tenant, group_id, user_name)
SELECT u.tenant, $2, u.name
FROM users u
WHERE u.tenant = $1
    AND u.roles @> $3
ON CONFLICT DO NOTHING
