-- Returns the partitions that are made for a time, by the names that make_measurement_partition and
-- make_journal_partition give them.
SELECT c.relname::text
FROM pg_inherits i
JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent IN ('measurements'::regclass, 'journal_notifications'::regclass)
    AND c.relname ~ '^(measurements(_[0-9]+){2}|journal_notifications(_[0-9]+){4})$'
ORDER BY c.relname
