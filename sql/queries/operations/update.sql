-- Updates operations and inserts an audit record of each new status (O-09), both or none.
WITH wanted AS (
    SELECT *
    FROM unnest(
        $1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[],
        $7::bigint[], $8::timestamptz[], $9::text[], $10::text[], $11::text[])
        AS wanted (
            tenant, id, revision, status, failure_reason, fragments,
            audit_id, audit_time, user_name, application, changes)
), updated AS (
    UPDATE operations o
    SET
        status = wanted.status,
        failure_reason = wanted.failure_reason,
        fragments = wanted.fragments::json,
        revision = o.revision + 1
    FROM wanted
    WHERE o.tenant = wanted.tenant
        AND o.id = wanted.id
        -- The operation was not changed since it was read.
        AND o.revision = wanted.revision
    RETURNING o.tenant, o.id
), recorded AS (
    INSERT INTO audit_records (
        tenant, id, type, activity, time, text, source, user_name, application, severity, changes, created_at)
    SELECT
        wanted.tenant, wanted.audit_id, 'Operation', 'Operation updated', wanted.audit_time, 'Operation updated',
        wanted.id::text, wanted.user_name, wanted.application, 'warning', wanted.changes::json, wanted.audit_time
    FROM wanted
    JOIN updated ON updated.tenant = wanted.tenant AND updated.id = wanted.id
    -- There is no record if only fragments change.
    WHERE wanted.audit_id IS NOT NULL
)
SELECT id
FROM updated
