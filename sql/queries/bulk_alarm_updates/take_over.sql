-- Takes over bulk updates of all tenants whose lease has expired. A bulk update with a step in progress is skipped.
UPDATE bulk_alarm_updates b
SET
    fence = b.fence + 1,
    leased_until = now() + make_interval(secs => $1)
FROM (
    SELECT tenant, id
    FROM bulk_alarm_updates
    WHERE leased_until < now()
    ORDER BY leased_until
    LIMIT $2
    FOR UPDATE SKIP LOCKED
) abandoned
WHERE b.tenant = abandoned.tenant
    AND b.id = abandoned.id
RETURNING
    b.tenant, b.id, b.status, b.statuses, b.severities, b.types, b.source, b.below, b.date_from, b.date_to,
    b.last_alarm, b.user_name, b.application, b.base, b.place_time, b.place_id, b.fence
