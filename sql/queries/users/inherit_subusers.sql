-- Gives the sub-users of a deleted user to its owner. Otherwise a later user with the same name would own them.
UPDATE users
SET owner = $3
WHERE tenant = $1
    AND owner = $2
