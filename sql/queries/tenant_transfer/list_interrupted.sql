-- Returns the tenants whose writes are rejected although no command moves them.
SELECT fenced.tenant
FROM (
    SELECT DISTINCT substr(tgname, length('moving_insert_') + 1) AS tenant
    FROM pg_trigger
    WHERE starts_with(tgname, 'moving_insert_')
        AND tgenabled <> 'D'
) fenced
WHERE NOT EXISTS (
    SELECT
    FROM pg_locks l
    WHERE l.locktype = 'advisory'
        AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
        AND l.classid = (hashtext('tenant_move')::bigint & 4294967295)::oid
        AND l.objid = (hashtext(fenced.tenant)::bigint & 4294967295)::oid)
ORDER BY fenced.tenant
