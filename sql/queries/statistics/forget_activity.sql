-- Deletes the activity of tenants that are idle at a server now, and that of servers that are gone.
DELETE FROM tenant_activity
WHERE (server = $1 AND tenant <> ALL ($2::text[]))
    OR measured_at < now() - interval '1 hour'
