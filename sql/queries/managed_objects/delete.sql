-- Locked in one order, so that two deletions do not wait for each other. Links, external ids, alarms and everything else
-- of the objects go with them by foreign keys.
WITH going AS MATERIALIZED (
    SELECT id
    FROM managed_objects
    WHERE tenant = $1
        AND id = ANY($2)
    ORDER BY id
    FOR UPDATE
)
DELETE FROM managed_objects o
USING going
WHERE o.tenant = $1
    AND o.id = going.id
RETURNING o.id
