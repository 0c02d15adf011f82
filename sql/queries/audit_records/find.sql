SELECT
    r.id, r.type, r.activity, r.time, r.time_offset, r.text, r.source, r.user_name, r.application, r.severity,
    r.changes, r.fragments, r.created_at
FROM audit_records r
WHERE r.tenant = $1
    AND r.id = $2
