-- Sub-users of a user that was deleted go up to its owner: whoever gets the name later must not own them.
UPDATE users
SET owner = $3
WHERE tenant = $1
    AND owner = $2
