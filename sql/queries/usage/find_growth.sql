-- Returns the last measured size of the database, the time of that measurement, and the bytes by which it has grown
-- per day: in the last week or since the first measurement, but null while this is less than an hour ago.
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
