-- Counts those of these transactions ($1) that are still running.
SELECT count(*) FROM pg_snapshot_xip(pg_current_snapshot()) AS running WHERE running::text = ANY($1)
