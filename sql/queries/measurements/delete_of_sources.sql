-- Deletes the next measurements of some sources. Rows that somebody else is deleting are passed over.
DELETE FROM measurements
WHERE tenant = $1
    AND id = ANY(ARRAY(
        SELECT id
        FROM measurements
        WHERE tenant = $1
            AND source = ANY($2)
        LIMIT $3
        FOR UPDATE SKIP LOCKED))
