-- Updates alarms and inserts their audit records, both or none.
WITH wanted AS (
    SELECT *
    FROM unnest(
        $1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[],
        $8::bigint[], $9::timestamptz[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[])
        AS wanted (
            tenant, id, revision, text, status, severity, fragments,
            audit_id, audit_time, audit_text, user_name, application, audit_severity, changes)
), updated AS (
    UPDATE alarms a
    SET
        text = wanted.text,
        status = wanted.status,
        severity = wanted.severity,
        fragments = wanted.fragments::json,
        revision = a.revision + 1
    FROM wanted
    WHERE a.tenant = wanted.tenant
        AND a.id = wanted.id
        -- The alarm was not changed since it was read.
        AND a.revision = wanted.revision
    RETURNING
        a.tenant, a.id, a.source, a.type, a.time, a.time_offset, a.text, a.status, a.severity, a.count,
        a.first_time, a.first_offset, a.created_at, a.revision, a.fragments
), recorded AS (
    INSERT INTO audit_records (
        tenant, id, type, activity, time, text, source, user_name, application, severity, changes, created_at)
    SELECT
        wanted.tenant, wanted.audit_id, 'Alarm', 'Alarm updated', wanted.audit_time, wanted.audit_text,
        wanted.id::text, wanted.user_name, wanted.application, wanted.audit_severity, wanted.changes::json,
        wanted.audit_time
    FROM wanted
    JOIN updated ON updated.tenant = wanted.tenant AND updated.id = wanted.id
)
SELECT
    id, source, type, time, time_offset, text, status, severity, count,
    first_time, first_offset, created_at, revision, fragments,
    (SELECT o.name FROM managed_objects o WHERE o.tenant = updated.tenant AND o.id = updated.source)
FROM updated
