-- Makes `platform` an ordinary role that owns its database. PostgreSQL runs this in single-user mode, as one statement
-- that may be repeated. In clusters of earlier versions the superuser that initdb made has this name. It gets another
-- one, because it owns the system tables.
DO $$
DECLARE
    object record;
BEGIN
    -- No session can rename its own role with ALTER ROLE.
    UPDATE pg_authid
    SET rolname = CASE
        WHEN EXISTS (SELECT FROM pg_authid WHERE rolname = 'postgres') THEN 'platform_superuser'
        ELSE 'postgres'
    END
    WHERE oid = 10
        AND rolname = 'platform';
    IF NOT EXISTS (SELECT FROM pg_authid WHERE rolname = 'platform') THEN
        CREATE ROLE platform;
    END IF;
    ALTER ROLE platform LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS;
    -- Errors of statements are reported to the server that sent them, and not written to the log: a client could fill
    -- the disk with them. Events of PostgreSQL itself have at least this level.
    ALTER ROLE platform SET log_min_messages = 'log';
    ALTER DATABASE platform OWNER TO platform;
    FOR object IN
        SELECT format('ALTER SCHEMA %I OWNER TO platform', nspname) AS statement
        FROM pg_namespace
        WHERE nspname NOT LIKE 'pg\_%'
            AND nspname <> 'information_schema'
        UNION ALL
        SELECT format('ALTER TABLE %s OWNER TO platform', c.oid::regclass)
        FROM pg_class c
        JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname NOT LIKE 'pg\_%'
            AND n.nspname <> 'information_schema'
            AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
            -- A sequence that belongs to a column follows its table.
            AND NOT EXISTS (
                SELECT
                FROM pg_depend d
                WHERE d.classid = 'pg_class'::regclass
                    AND d.objid = c.oid
                    AND c.relkind = 'S'
                    AND d.deptype IN ('a', 'i'))
        UNION ALL
        SELECT format('ALTER ROUTINE %s OWNER TO platform', p.oid::regprocedure)
        FROM pg_proc p
        JOIN pg_namespace n ON n.oid = p.pronamespace
        WHERE n.nspname NOT LIKE 'pg\_%'
            AND n.nspname <> 'information_schema'
    LOOP
        EXECUTE object.statement;
    END LOOP;
END
$$;
