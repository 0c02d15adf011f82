INSERT INTO audit_records (
    tenant, id, type, activity, time, time_offset, text, source, user_name, application, severity, changes,
    fragments, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
