-- Returns whether any managed object has this owner, whether or not a user of that name exists.
SELECT EXISTS (SELECT 1 FROM managed_objects WHERE tenant = $1 AND owner = $2)
