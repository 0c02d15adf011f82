DELETE FROM measurements
WHERE tenant = $1
    AND id = ANY(ARRAY(
        SELECT id
        FROM measurements
        WHERE tenant = $1
            AND id = ANY($2)
        -- A concurrent deletion of the same measurement sends the notification.
        FOR UPDATE SKIP LOCKED))
RETURNING id, source
