INSERT INTO group_members (tenant, group_id, user_name)
VALUES ($1, $2, $3)
ON CONFLICT DO NOTHING
