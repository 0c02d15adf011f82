-- Returns the partitions of journals that are complete and that no consumer needs: each active one with a backlog has a
-- position of a later hour.
SELECT past.name
FROM (
    SELECT
        pg_class.relname::text AS name,
        to_timestamp(right(pg_class.relname, 13) || ' +00', 'YYYY_MM_DD_HH24 TZH') + interval '1 hour' AS ends
    FROM pg_inherits
    JOIN pg_class ON pg_class.oid = pg_inherits.inhrelid
    WHERE pg_inherits.inhparent = 'journal_notifications'::regclass
        AND pg_class.relname ~ '^journal_notifications_[0-9]{4}_[0-9]{2}_[0-9]{2}_[0-9]{2}$'
) AS past
-- The clocks of a database and its standby may differ.
WHERE past.ends + interval '10 minutes' < now()
    AND NOT EXISTS (
        SELECT
        FROM consumers
        JOIN journals ON journals.tenant = consumers.tenant
        WHERE consumers.lapsed_at IS NULL
            AND consumers.position < journals.newest
            AND consumers.position_at < past.ends)
ORDER BY past.ends
