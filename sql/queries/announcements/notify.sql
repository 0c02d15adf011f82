-- Tells every server process, with the commit, what changed.
SELECT pg_notify($1, payload)
FROM unnest($2::text[]) AS payload
