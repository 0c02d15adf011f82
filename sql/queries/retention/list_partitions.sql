-- Returns the monthly partitions of the measurements that are complete, with the first id after each.
SELECT p.name, first_id(p.month + interval '1 month')
FROM (
    SELECT
        c.relname::text AS name,
        to_timestamp(right(c.relname, 7) || ' +00', 'YYYY_MM TZH') AS month
    FROM pg_inherits i
    JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'measurements'::regclass
        AND c.relname ~ '^measurements_[0-9]{4}_[0-9]{2}$'
) p
WHERE p.month + interval '1 month 1 day' < now()
ORDER BY p.name
