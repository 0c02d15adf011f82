-- Memberships go by the foreign key.
DELETE FROM groups
WHERE tenant = $1
    AND id = $2
