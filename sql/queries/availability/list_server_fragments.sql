-- Returns the data of the server's fragments of some objects: their open alarms (A-12) and the availability of watched
-- ones (R-01, R-05, R-06). OFFSET 0 makes the planner process object by object; otherwise it might read all alarms for
-- a page of objects.
SELECT
    o.id, a.critical, a.major, a.minor, a.warning, a.critical_active,
    v.response_interval, v.last_message, v.due_at <= now(), v.connected
FROM unnest($2::bigint[]) AS o (id)
CROSS JOIN LATERAL (
    SELECT
        count(*) FILTER (WHERE severity = 'CRITICAL') AS critical,
        count(*) FILTER (WHERE severity = 'MAJOR') AS major,
        count(*) FILTER (WHERE severity = 'MINOR') AS minor,
        count(*) FILTER (WHERE severity = 'WARNING') AS warning,
        count(*) FILTER (WHERE severity = 'CRITICAL' AND status = 'ACTIVE') > 0 AS critical_active
    FROM alarms
    WHERE tenant = $1
        AND source = o.id
        AND status <> 'CLEARED'
) AS a
LEFT JOIN LATERAL (
    SELECT
        response_interval, last_message, due_at,
        EXISTS (
            SELECT
            FROM managed_objects m
            JOIN presence p ON p.tenant = m.tenant AND p.user_name = m.owner
            WHERE m.tenant = $1
                AND m.id = o.id
                AND p.connected_until > now()
        ) AS connected
    FROM availability
    WHERE tenant = $1
        AND device = o.id
    OFFSET 0
) AS v ON true
-- Other objects have no fragments of the server.
WHERE a.critical + a.major + a.minor + a.warning > 0
    OR v.response_interval IS NOT NULL
