DELETE FROM operations
WHERE tenant = $1
    AND id = ANY(ARRAY(
        SELECT o.id
        FROM operations o
        WHERE o.tenant = $1
            AND o.id = ANY($2)
            -- The premise: a device has not taken it up meanwhile.
            AND ($3::text IS NULL OR o.status = $3)
        -- In one order, so that two deletions never wait for each other.
        ORDER BY o.id
        FOR UPDATE))
RETURNING id, device
