-- Increments the count of open alarms that were sent again as CLEARED. The unique index covers open alarms only, so an
-- insert would not conflict with them (A-05).
UPDATE alarms a
SET
    count = a.count + 1,
    -- An older time does not replace a newer one.
    time = greatest(a.time, again.time),
    time_offset = CASE WHEN again.time > a.time THEN again.time_offset ELSE a.time_offset END
FROM unnest($1::text[], $2::bigint[], $3::text[], $4::timestamptz[], $5::smallint[], $6::text[])
    AS again (tenant, source, type, time, time_offset, owner)
JOIN managed_objects o ON o.tenant = again.tenant AND o.id = again.source
WHERE a.tenant = again.tenant
    AND a.source = again.source
    AND a.type = again.type
    AND a.status <> 'CLEARED'
    -- The caller, who writes as the owner, still is the owner.
    AND coalesce(again.owner, o.owner) = o.owner
    -- Nothing is counted in maintenance (R-02, A-09).
    AND NOT EXISTS (
        SELECT
        FROM availability v
        WHERE v.tenant = a.tenant
            AND v.device = a.source
            AND v.response_interval <= 0)
RETURNING
    a.id, a.source, a.type, a.time, a.time_offset, a.text, a.status, a.severity, a.count,
    a.first_time, a.first_offset, a.created_at, a.revision, a.fragments, o.name
