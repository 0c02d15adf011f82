-- Returns the hours without a partition, as a number of hours from now, up to $1.
SELECT ahead
FROM generate_series(0, $1::integer) AS ahead
WHERE to_regclass('journal_notifications_'
    || to_char(date_trunc('hour', now() + ahead * interval '1 hour', 'UTC') AT TIME ZONE 'UTC', 'YYYY_MM_DD_HH24'))
    IS NULL
ORDER BY ahead
