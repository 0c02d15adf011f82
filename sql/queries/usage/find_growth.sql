-- The size of the database as it was measured last, when, and how many bytes it has grown per day: in the last week, or
-- as long as it is measured, but null while this is less than an hour.
SELECT
    newest.bytes, newest.measured_at,
    ((newest.bytes - oldest.bytes) * 86400.0
        / extract(epoch FROM newest.measured_at - oldest.measured_at))::float8
FROM (SELECT bytes, measured_at FROM database_sizes ORDER BY measured_at DESC LIMIT 1) newest
LEFT JOIN LATERAL (
    SELECT bytes, measured_at
    FROM database_sizes
    WHERE measured_at > newest.measured_at - interval '7 days'
        AND measured_at <= newest.measured_at - interval '1 hour'
    ORDER BY measured_at
    LIMIT 1
) oldest ON true
