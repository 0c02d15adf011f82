-- Deletes locked objects. Foreign keys delete their links, external ids, alarms and other data.
DELETE FROM managed_objects
WHERE tenant = $1
    AND id = ANY($2)
RETURNING id
