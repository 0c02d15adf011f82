DELETE FROM measurements
WHERE tenant = $1
    AND id = ANY(ARRAY(
        SELECT id
        FROM measurements
        WHERE tenant = $1
            AND id = ANY($2)
        -- Who deletes the same meanwhile tells of it.
        FOR UPDATE SKIP LOCKED))
RETURNING id, source
