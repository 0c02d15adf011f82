-- Deletes what a server no longer says, and what servers said that are gone.
DELETE FROM tenant_activity
WHERE (server = $1 AND tenant <> ALL ($2::text[]))
    OR measured_at < now() - interval '1 hour'
