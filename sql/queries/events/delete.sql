-- Deletes events. The foreign key deletes their files.
DELETE FROM events
WHERE tenant = $1
    AND id = ANY($2)
RETURNING id, source
