-- Memberships go by the foreign key.
DELETE FROM users
WHERE tenant = $1
    AND name = $2
