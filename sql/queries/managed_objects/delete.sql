-- Deletes objects that are locked. Links, external ids, alarms and everything else of them go by foreign keys.
DELETE FROM managed_objects
WHERE tenant = $1
    AND id = ANY($2)
RETURNING id
