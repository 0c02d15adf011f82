-- Tells every server process, with the commit, that these users changed.
SELECT pg_notify($1, given.tenant || '/' || given.name)
FROM unnest($2::text[], $3::text[]) AS given (tenant, name)
