-- Counts alarms that were sent again while open (A-05).
UPDATE alarms a
SET
    count = a.count + 1,
    -- An older time than stored does not move time back.
    time = greatest(a.time, again.time),
    time_offset = CASE WHEN again.time > a.time THEN again.time_offset ELSE a.time_offset END
FROM unnest($1::text[], $2::bigint[], $3::timestamptz[], $4::smallint[])
    AS again (tenant, id, time, time_offset)
WHERE a.tenant = again.tenant
    AND a.id = again.id
    -- The premise: still open. Another process may have cleared it.
    AND a.status <> 'CLEARED'
RETURNING
    a.id, a.source, a.type, a.time, a.time_offset, a.text, a.status, a.severity, a.count,
    a.first_time, a.first_offset, a.created_at, a.revision, a.fragments, NULL::text
