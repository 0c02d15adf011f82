-- Serializes the removal of administrators, because two administrators could remove each other (U-15).
SELECT id
FROM groups
WHERE tenant = $1
    AND name = 'admins'
FOR NO KEY UPDATE
