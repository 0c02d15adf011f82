-- Lets the consumers lapse whose backlog exceeds a bound, and returns them for an alarm about each: the tenant, the
-- name, the position, and the notifications and bytes of the backlog.
WITH lapsing AS (
    SELECT
        consumers.tenant,
        consumers.name,
        journals.newest - consumers.position AS notifications,
        journals.bytes - consumers.bytes AS bytes
    FROM consumers
    JOIN journals ON journals.tenant = consumers.tenant
    WHERE consumers.lapsed_at IS NULL
        AND journals.newest > consumers.position
        AND (
            journals.bytes - consumers.bytes > consumers.max_bytes
            -- The next notification did not arrive before the position.
            OR consumers.position_at < now() - make_interval(secs => consumers.max_age)
                AND EXISTS (
                    SELECT
                    FROM (
                        SELECT arrived_at
                        FROM journal_notifications
                        WHERE journal_notifications.tenant = consumers.tenant
                            AND journal_notifications.position > consumers.position
                            AND journal_notifications.arrived_at >= consumers.position_at
                        ORDER BY journal_notifications.position
                        LIMIT 1
                    ) AS oldest
                    WHERE oldest.arrived_at < now() - make_interval(secs => consumers.max_age)
                )
        )
    ORDER BY consumers.tenant, consumers.name
    FOR UPDATE OF consumers SKIP LOCKED
)
UPDATE consumers
SET lapsed_at = now(),
    alarm_begun_at = now()
FROM lapsing
WHERE consumers.tenant = lapsing.tenant
    AND consumers.name = lapsing.name
RETURNING consumers.tenant, consumers.name, consumers.position, lapsing.notifications, lapsing.bytes
