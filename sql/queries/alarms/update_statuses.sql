-- Gives alarms another status and writes one audit record each, both or none (A-02, A-11).
WITH wanted AS (
    SELECT a.id, a.source, a.type, a.status, wanted.audit_id
    FROM unnest($2::bigint[], $3::bigint[]) AS wanted (id, audit_id)
    JOIN alarms a ON a.tenant = $1 AND a.id = wanted.id
    -- The premises: it has another status, and is still what the filters ask for.
    WHERE a.status <> $4
        AND (cardinality($5::text[]) = 0 OR a.status = ANY($5))
        AND (cardinality($6::text[]) = 0 OR a.severity = ANY($6))
    ORDER BY a.id
    FOR UPDATE OF a
), admitted AS (
    SELECT w.*
    FROM wanted w
    -- One that would be opened beside another open alarm of its type is left out; of several the oldest is opened.
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
        -- Statuses are words of ours, so nothing needs to be escaped.
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
