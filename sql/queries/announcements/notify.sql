-- Notifies every server process, at the commit, of changes.
SELECT pg_notify($1, payload)
FROM unnest($2::text[]) AS payload
