-- Returns the first members by name, which the representation of the group contains.
SELECT user_name
FROM group_members
WHERE tenant = $1
    AND group_id = $2
ORDER BY user_name COLLATE "C"
LIMIT $3
