-- Raises the alarms of one group commit. A row whose source and type are open already is left out.
INSERT INTO alarms (
    tenant, id, source, type, time, time_offset, text, status, severity,
    count, first_time, first_offset, created_at, fragments)
SELECT
    new.tenant, new.id, new.source, new.type, new.time, new.time_offset, new.text, new.status, new.severity,
    1, new.time, new.time_offset, new.created_at, new.fragments::json
FROM unnest(
    $1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::timestamptz[], $6::smallint[],
    $7::text[], $8::text[], $9::text[], $10::timestamptz[], $11::text[])
    AS new (tenant, id, source, type, time, time_offset, text, status, severity, created_at, fragments)
ON CONFLICT (tenant, source, type) WHERE status <> 'CLEARED' DO NOTHING
RETURNING id
