-- Raises the alarms of one group commit, or increments the count of those that are open already (A-05). The unique
-- index decides which of both, so the result is correct with any number of server processes.
WITH new AS MATERIALIZED (
    SELECT *
    FROM unnest(
        $1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::timestamptz[], $6::smallint[],
        $7::text[], $8::text[], $9::text[], $10::timestamptz[], $11::text[], $12::text[], $13::timestamptz[])
        AS new (
            tenant, id, source, type, time, time_offset, text, status, severity, created_at, fragments, owner,
            silent_since)
), silent AS MATERIALIZED (
    -- An unavailability alarm is raised only if no message of the device came since and no other server raised one
    -- for this silence (R-04). The lock ensures that a concurrent message is either seen here or finds an alarm to
    -- clear.
    SELECT v.tenant, v.device, v.last_message
    FROM new
    JOIN availability v ON v.tenant = new.tenant AND v.device = new.source
    WHERE new.silent_since IS NOT NULL
        AND v.last_message = new.silent_since
        AND v.silent_since IS NULL
        AND v.due_at <= now()
    ORDER BY v.tenant, v.device
    FOR UPDATE OF v
), marked AS (
    UPDATE availability v
    SET silent_since = silent.last_message
    FROM silent
    WHERE v.tenant = silent.tenant
        AND v.device = silent.device
)
INSERT INTO alarms AS a (
    tenant, id, source, type, time, time_offset, text, status, severity,
    count, first_time, first_offset, created_at, fragments)
SELECT
    new.tenant, new.id, new.source, new.type, new.time, new.time_offset, new.text, new.status, new.severity,
    1, new.time, new.time_offset, new.created_at, new.fragments::json
FROM new
-- A row whose source does not exist is left out, because a foreign key violation would fail the whole batch.
JOIN managed_objects o ON o.tenant = new.tenant AND o.id = new.source
-- The caller, who writes as the owner, still is the owner.
WHERE coalesce(new.owner, o.owner) = o.owner
    -- Nothing is raised in maintenance (R-02, A-09).
    AND NOT EXISTS (
        SELECT
        FROM availability v
        WHERE v.tenant = new.tenant
            AND v.device = new.source
            AND v.response_interval <= 0)
    AND (
        new.silent_since IS NULL
        OR EXISTS (SELECT FROM silent WHERE silent.tenant = new.tenant AND silent.device = new.source))
ON CONFLICT (tenant, source, type) WHERE status <> 'CLEARED'
DO UPDATE SET
    count = a.count + 1,
    -- An older time does not replace a newer one.
    time = greatest(a.time, excluded.time),
    time_offset = CASE WHEN excluded.time > a.time THEN excluded.time_offset ELSE a.time_offset END
RETURNING
    a.id, a.source, a.type, a.time, a.time_offset, a.text, a.status, a.severity, a.count,
    a.first_time, a.first_offset, a.created_at, a.revision,
    -- A new alarm need not be returned with its fragments; a repetition shows the stored ones.
    CASE WHEN a.count = 1 THEN '{}'::json ELSE a.fragments END,
    (SELECT o.name FROM managed_objects o WHERE o.tenant = a.tenant AND o.id = a.source)
