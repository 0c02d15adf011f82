-- Deletes a group. The foreign key deletes its memberships.
DELETE FROM groups
WHERE tenant = $1
    AND id = $2
