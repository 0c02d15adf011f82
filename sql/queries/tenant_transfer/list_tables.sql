-- Returns the tables that have rows of tenants, with their columns that are neither the tenant nor computed, those of
-- them that refer to an application, the tables that their foreign keys refer to, the columns of their primary key, and
-- the columns that PostgreSQL numbers.
SELECT
    c.relname::text,
    ARRAY(
        SELECT a.attname::text
        FROM pg_attribute a
        WHERE a.attrelid = c.oid
            AND a.attnum > 0
            AND NOT a.attisdropped
            AND a.attgenerated = ''
            AND a.attname <> 'tenant'
        ORDER BY a.attname),
    ARRAY(
        SELECT a.attname::text
        FROM pg_constraint k
        JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = ANY(k.conkey)
        WHERE k.conrelid = c.oid
            AND k.contype = 'f'
            AND k.confrelid = 'applications'::regclass
        ORDER BY a.attname),
    ARRAY(
        SELECT DISTINCT k.confrelid::regclass::text
        FROM pg_constraint k
        WHERE k.conrelid = c.oid
            AND k.contype = 'f'
            AND k.confrelid <> c.oid),
    ARRAY(
        SELECT a.attname::text
        FROM pg_constraint k
        JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = ANY(k.conkey)
        WHERE k.conrelid = c.oid
            AND k.contype = 'p'
        ORDER BY a.attname),
    ARRAY(
        SELECT a.attname::text
        FROM pg_attribute a
        WHERE a.attrelid = c.oid
            AND a.attidentity <> ''
        ORDER BY a.attname)
FROM pg_class c
WHERE c.relnamespace = 'public'::regnamespace
    AND c.relkind IN ('r', 'p')
    AND NOT c.relispartition
    AND (
        c.relname = 'tenants'
        OR EXISTS (
            SELECT
            FROM pg_attribute a
            WHERE a.attrelid = c.oid
                AND a.attname = 'tenant'
                AND NOT a.attisdropped))
ORDER BY c.relname
