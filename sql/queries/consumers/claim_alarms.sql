-- Returns the consumers that have lapsed without an alarm, because the server that began to raise it has ended or has
-- failed: the tenant and the name. Each is returned to one server, and again after ten seconds.
UPDATE consumers
SET alarm_begun_at = now()
FROM (
    SELECT tenant, name
    FROM consumers
    WHERE alarm_begun_at < now() - interval '10 seconds'
    ORDER BY tenant, name
    FOR UPDATE SKIP LOCKED
) AS unreported
WHERE consumers.tenant = unreported.tenant
    AND consumers.name = unreported.name
RETURNING consumers.tenant, consumers.name
