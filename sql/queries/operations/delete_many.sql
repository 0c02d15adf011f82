DELETE FROM operations
WHERE tenant = $1
    AND id = ANY(ARRAY(
        SELECT o.id
        FROM operations o
        WHERE o.tenant = $1
            AND o.id = ANY($2)
            -- The device has not started it meanwhile.
            AND ($3::text IS NULL OR o.status = $3)
        -- Locked in one order, so that two deletions cannot deadlock.
        ORDER BY o.id
        FOR UPDATE))
RETURNING id, device
