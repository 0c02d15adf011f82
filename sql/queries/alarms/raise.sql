-- Raises the alarms of one group commit, or counts those that are open already (A-05). The index decides which: so
-- that it is right whatever the number of server processes.
INSERT INTO alarms AS a (
    tenant, id, source, type, time, time_offset, text, status, severity,
    count, first_time, first_offset, created_at, fragments)
SELECT
    new.tenant, new.id, new.source, new.type, new.time, new.time_offset, new.text, new.status, new.severity,
    1, new.time, new.time_offset, new.created_at, new.fragments::json
FROM unnest(
    $1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::timestamptz[], $6::smallint[],
    $7::text[], $8::text[], $9::text[], $10::timestamptz[], $11::text[], $12::text[])
    AS new (tenant, id, source, type, time, time_offset, text, status, severity, created_at, fragments, owner)
-- A row whose source does not exist is left out; left to the foreign key it would fail its neighbours too.
JOIN managed_objects o ON o.tenant = new.tenant AND o.id = new.source
-- The premise: a caller who writes as the owner still is the owner.
WHERE coalesce(new.owner, o.owner) = o.owner
ON CONFLICT (tenant, source, type) WHERE status <> 'CLEARED'
DO UPDATE SET
    count = a.count + 1,
    -- An older time than stored does not move time back.
    time = greatest(a.time, excluded.time),
    time_offset = CASE WHEN excluded.time > a.time THEN excluded.time_offset ELSE a.time_offset END
RETURNING
    a.id, a.source, a.type, a.time, a.time_offset, a.text, a.status, a.severity, a.count,
    a.first_time, a.first_offset, a.created_at, a.revision,
    -- What was sent need not be sent back; only a repetition shows what is stored.
    CASE WHEN a.count = 1 THEN '{}'::json ELSE a.fragments END,
    (SELECT o.name FROM managed_objects o WHERE o.tenant = a.tenant AND o.id = a.source)
