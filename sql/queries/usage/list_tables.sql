-- Returns the tables and partitions that have rows, with their bytes including indexes and long values, and whether
-- their rows belong to tenants. Unlogged tables are left out, because they lose their rows in a crash and stay small.
SELECT
    c.relname::text,
    coalesce(pg_total_relation_size(c.oid), 0),
    greatest(c.reltuples, 0)::bigint,
    EXISTS (
        SELECT FROM pg_attribute a
        WHERE a.attrelid = c.oid
            AND a.attname = 'tenant'
            AND NOT a.attisdropped)
FROM pg_class c
WHERE c.relkind = 'r'
    AND c.relpersistence = 'p'
    AND c.relnamespace = current_schema()::regnamespace
ORDER BY c.relname
