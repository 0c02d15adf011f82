-- Begins a bulk update, which the requesting process holds.
INSERT INTO bulk_alarm_updates (
    tenant, id, status, statuses, severities, types, source, below, date_from, date_to,
    last_alarm, user_name, application, base, fence, leased_until)
SELECT
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10,
    coalesce((SELECT max(a.id) FROM alarms a WHERE a.tenant = $1), 0),
    $11, $12, $13, 1, now() + make_interval(secs => $14)
-- A tenant that sends requests faster than they are processed has to wait.
WHERE (SELECT count(*) FROM bulk_alarm_updates b WHERE b.tenant = $1) < $15
RETURNING last_alarm
