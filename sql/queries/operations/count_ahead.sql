-- Counts the open operations of some agents ($2) that precede an operation, up to a limit ($5), and returns the oldest.
-- $6 is the fragment of an agent.
SELECT count(*), (array_agg(ahead.id ORDER BY ahead.created_at, ahead.id))[1]
FROM (
    SELECT DISTINCT o.id, o.created_at
    FROM unnest($2::bigint[]) AS agent (id)
    CROSS JOIN LATERAL devices_of_agent($1, agent.id, $6) AS device (id)
    CROSS JOIN LATERAL (
        SELECT o.id, o.created_at
        FROM operations o
        WHERE o.tenant = $1
            AND o.device = device.id
            -- The condition of the partial index.
            AND o.status IN ('PENDING', 'EXECUTING')
            AND (o.created_at, o.id) < ($3, $4)
        ORDER BY o.created_at, o.id
        LIMIT $5
    ) AS o
    ORDER BY o.created_at, o.id
    LIMIT $5
) AS ahead
