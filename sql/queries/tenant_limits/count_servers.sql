-- Returns the number of living servers.
SELECT count(*)
FROM servers
WHERE leased_until > now()
