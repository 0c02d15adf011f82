-- Whether managed objects are owned by this name, of a user or not.
SELECT EXISTS (SELECT 1 FROM managed_objects WHERE tenant = $1 AND owner = $2)
