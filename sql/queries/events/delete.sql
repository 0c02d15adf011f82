-- Files of the events go with them by the foreign key.
DELETE FROM events
WHERE tenant = $1
    AND id = ANY($2)
RETURNING id, source
