-- Counts the positions that the queues of an agent's devices provide for a page, the first $3 of each, up to $4 plus
-- one.
SELECT count(*)
FROM (
    SELECT
    FROM devices_of_agent($1, $2, $5) AS queue (id)
    CROSS JOIN LATERAL (
        SELECT
        FROM operations o
        WHERE o.tenant = $1
            -- Written as a range, so that only the index of devices has the order.
            AND o.device >= queue.id
            AND o.device <= queue.id
        ORDER BY o.device, o.created_at, o.id
        LIMIT $3::bigint
    ) AS place
    LIMIT $4::bigint + 1
) AS places
