-- Returns the running transactions of this database that may write.
SELECT coalesce(array_agg(running::text), '{}')
FROM pg_snapshot_xip(pg_current_snapshot()) AS running
WHERE running::xid IN (SELECT backend_xid FROM pg_stat_activity WHERE datname = current_database())
