-- Deletes a user. The foreign key deletes its memberships.
DELETE FROM users
WHERE tenant = $1
    AND name = $2
