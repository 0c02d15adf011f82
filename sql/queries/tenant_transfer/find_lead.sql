-- Returns by how many milliseconds the newest id of a tenant ($1) is ahead of the clock. Ids begin with milliseconds.
SELECT (coalesce(max(newest.id), 0) >> 20) - (first_id(clock_timestamp()) >> 20)
FROM (
    VALUES
        ((SELECT max(id) FROM managed_objects WHERE tenant = $1)),
        ((SELECT max(id) FROM alarms WHERE tenant = $1)),
        ((SELECT max(id) FROM events WHERE tenant = $1)),
        ((SELECT max(id) FROM measurements WHERE tenant = $1)),
        ((SELECT max(id) FROM audit_records WHERE tenant = $1)),
        ((SELECT max(id) FROM binaries WHERE tenant = $1)),
        ((SELECT max(id) FROM modules WHERE tenant = $1))
) newest (id)
