-- Returns the servers that are connected to the database although their lease has ended.
SELECT slot, name
FROM servers
WHERE leased_until <= now()
    AND token IN (
        SELECT right(application_name, 16)
        FROM pg_stat_activity
        WHERE datname = current_database())
ORDER BY slot
