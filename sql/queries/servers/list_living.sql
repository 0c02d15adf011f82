-- Returns the living servers with their incarnations.
SELECT incarnation, name
FROM servers
WHERE leased_until > now()
ORDER BY slot
