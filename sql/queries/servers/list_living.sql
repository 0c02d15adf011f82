-- The servers that run, by the number of their process.
SELECT incarnation, name
FROM servers
WHERE leased_until > now()
ORDER BY slot
