DELETE FROM group_members
WHERE tenant = $1
    AND group_id = $2
    AND user_name = $3
