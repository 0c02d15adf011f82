-- Returns how many months ahead of now the months without a partition are, up to $1 and in this order.
-- make_measurement_partition names the partitions.
SELECT ahead
FROM generate_series(0, $1::int) ahead,
    LATERAL (SELECT date_trunc('month', now() + ahead * interval '1 month', 'UTC') AT TIME ZONE 'UTC') month (starts)
WHERE to_regclass('measurements_' || to_char(month.starts, 'YYYY_MM')) IS NULL
ORDER BY ahead
