-- Changes the status of alarms and inserts an audit record for each, both or none (A-02, A-11).
WITH wanted AS (
    SELECT a.id, a.source, a.type, a.status, wanted.audit_id
    FROM unnest($2::bigint[], $3::bigint[]) AS wanted (id, audit_id)
    JOIN alarms a ON a.tenant = $1 AND a.id = wanted.id
    -- The alarm has another status and still matches the filters.
    WHERE a.status <> $4
        AND (cardinality($5::text[]) = 0 OR a.status = ANY($5))
        AND (cardinality($6::text[]) = 0 OR a.severity = ANY($6))
    ORDER BY a.id
    FOR UPDATE OF a
), admitted AS (
    SELECT w.*
    FROM wanted w
    -- An alarm is left out when reopening it would give its type a second open alarm; of several alarms the oldest is
    -- reopened.
    WHERE w.status <> 'CLEARED'
        OR (
            NOT EXISTS (
                SELECT FROM alarms o
                WHERE o.tenant = $1 AND o.source = w.source AND o.type = w.type AND o.status <> 'CLEARED')
            AND NOT EXISTS (
                SELECT FROM wanted o
                WHERE o.status = 'CLEARED' AND o.source = w.source AND o.type = w.type AND o.id < w.id)
        )
), updated AS (
    UPDATE alarms a
    SET
        status = $4,
        revision = a.revision + 1
    FROM admitted
    WHERE a.tenant = $1
        AND a.id = admitted.id
    RETURNING
        a.id, a.source, a.type, a.time, a.time_offset, a.text, a.status, a.severity, a.count,
        a.first_time, a.first_offset, a.created_at, a.revision, a.fragments,
        admitted.status AS previous, admitted.audit_id
), recorded AS (
    INSERT INTO audit_records (
        tenant, id, type, activity, time, text, source, user_name, application, severity, changes, created_at)
    SELECT
        $1, u.audit_id, 'Alarm', 'Alarm updated', $7, 'Alarm updated', u.id::text, $8, $9, lower(u.severity),
        -- Statuses are constants, so they need no escaping.
        format(
            '[{"attribute":"status","type":"String","previousValue":"%s","newValue":"%s","changeType":"REPLACED"}]',
            u.previous, u.status)::json,
        $7
    FROM updated u
)
SELECT
    id, source, type, time, time_offset, text, status, severity, count,
    first_time, first_offset, created_at, revision, fragments,
    (SELECT o.name FROM managed_objects o WHERE o.tenant = $1 AND o.id = updated.source)
FROM updated
ORDER BY time, id
