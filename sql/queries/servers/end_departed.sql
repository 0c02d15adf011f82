-- Ends the leases of the servers without a connection to the database, and no longer publishes anything to them. Their
-- slots stay theirs for as long as after any lease, because of the ids that they reserved.
WITH departed AS (
    UPDATE servers
    SET
        takes_part = false,
        leased_until = least(leased_until, now())
    WHERE takes_part
        AND token NOT IN (
            SELECT right(application_name, 16)
            FROM pg_stat_activity
            WHERE datname = current_database())
    RETURNING incarnation
)
DELETE FROM publication_listeners WHERE server IN (SELECT incarnation FROM departed)
