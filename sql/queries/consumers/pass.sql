-- Moves a consumer ($2) of a tenant ($1) to a place ($3 to $5), because its reader at the server $6 has read up to
-- there and nothing matched. It is one transaction, whose loss would only let it read again.
WITH quick AS (
    SELECT set_config('synchronous_commit', 'off', true)
)
UPDATE consumers
SET position = $3,
    position_at = $4,
    bytes = $5
FROM quick
WHERE consumers.tenant = $1
    AND consumers.name = $2
    AND consumers.reader_server = $6
    AND consumers.lapsed_at IS NULL
    AND consumers.missed_to IS NULL
    AND consumers.position < $3
