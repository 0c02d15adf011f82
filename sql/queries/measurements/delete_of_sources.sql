-- Deletes the next measurements of some sources. Rows that a concurrent transaction is deleting are skipped.
DELETE FROM measurements
WHERE tenant = $1
    AND id = ANY(ARRAY(
        SELECT id
        FROM measurements
        WHERE tenant = $1
            AND source = ANY($2)
        LIMIT $3
        FOR UPDATE SKIP LOCKED))
