-- Stores a placement. A deleted group is ignored; an existing one is locked against deletion until the transaction
-- ends.
INSERT INTO device_placements AS p (tenant, user_name, group_id)
SELECT g.tenant, $2, g.id
FROM managed_objects g
WHERE g.tenant = $1
    AND g.id = $3
FOR KEY SHARE OF g
ON CONFLICT (tenant, user_name) DO UPDATE
SET group_id = excluded.group_id
