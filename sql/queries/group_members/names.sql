-- The first members by name, shown inside their group.
SELECT user_name
FROM group_members
WHERE tenant = $1
    AND group_id = $2
ORDER BY user_name COLLATE "C"
LIMIT $3
