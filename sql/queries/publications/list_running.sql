-- Returns the running transactions of servers that may write. Nobody else publishes, so an open transaction of another
-- program is not waited for.
SELECT coalesce(array_agg(running::text), '{}')
FROM pg_snapshot_xip(pg_current_snapshot()) AS running
WHERE running::xid IN (
    SELECT backend_xid
    FROM pg_stat_activity
    WHERE datname = current_database()
        -- The servers that others counted as dead are included, until another server has their slot.
        AND right(application_name, 16) IN (SELECT token FROM servers WHERE token <> ''))
