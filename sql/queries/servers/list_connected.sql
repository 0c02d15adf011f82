-- Returns the living servers that have a connection to the database. One that was killed has none, although its lease
-- has not ended.
SELECT incarnation, slot, name
FROM servers
WHERE leased_until > now()
    AND takes_part
    AND token IN (
        SELECT right(application_name, 16)
        FROM pg_stat_activity
        WHERE datname = current_database())
