-- Acknowledges the notifications of a consumer ($2) of a tenant ($1) up to a position ($3), and a gap that ends there
-- or before. It is one transaction, whose loss would only repeat notifications.
WITH quick AS (
    SELECT set_config('synchronous_commit', 'off', true)
),
acknowledged AS (
    SELECT position, arrived_at, bytes
    FROM journal_notifications
    WHERE tenant = $1
        AND position = $3
        AND arrived_at >= (SELECT position_at FROM consumers WHERE tenant = $1 AND name = $2)
)
UPDATE consumers
SET position = coalesce(acknowledged.position, consumers.position),
    position_at = coalesce(acknowledged.arrived_at, consumers.position_at),
    bytes = coalesce(acknowledged.bytes, consumers.bytes),
    missed_from = CASE WHEN $3 >= consumers.missed_to THEN NULL ELSE consumers.missed_from END,
    missed_to = CASE WHEN $3 >= consumers.missed_to THEN NULL ELSE consumers.missed_to END
FROM quick
LEFT JOIN acknowledged ON true
WHERE consumers.tenant = $1
    AND consumers.name = $2
    AND consumers.lapsed_at IS NULL
    AND consumers.position <= $3
    AND (acknowledged.position > consumers.position OR $3 >= consumers.missed_to)
