-- Deletes the sizes of more than a month ago, and those of more than a day ago except the first one of each hour.
DELETE FROM database_sizes d
WHERE d.measured_at < now() - interval '31 days'
    OR (d.measured_at < now() - interval '1 day'
        AND EXISTS (
            SELECT FROM database_sizes earlier
            WHERE earlier.measured_at >= date_trunc('hour', d.measured_at)
                AND earlier.measured_at < d.measured_at))
