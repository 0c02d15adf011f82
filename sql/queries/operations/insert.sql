-- Queues operations in the given order and returns their agents (O-01). An operation is left out when its device does
-- not exist or has no agent. One of a bulk operation is stored as FAILED when its device has no agent (K-10), and left
-- out when its device has an operation of the bulk operation already (K-05). The statement avoids joining the input
-- with itself, which would take quadratic time.
WITH new AS MATERIALIZED (
    SELECT
        new.*,
        o.name AS device_name,
        nullif(ARRAY(SELECT agents_of(new.tenant, new.device, $5)), '{}') AS agents
    FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[])
        WITH ORDINALITY AS new (tenant, device, bulk_operation, fragments, place)
    JOIN managed_objects o ON o.tenant = new.tenant AND o.id = new.device
), numbered AS MATERIALIZED (
    SELECT
        nextval('operation_ids') AS id,
        -- It is never earlier than the previous operation of the device, even if the clock was set back.
        greatest(
            clock_timestamp(),
            (
                SELECT max(o.created_at)
                FROM operations o
                WHERE o.tenant = queued.tenant
                    AND o.device = queued.device
            ) + interval '1 microsecond') AS created_at,
        CASE WHEN queued.agents IS NULL THEN 'FAILED' ELSE 'PENDING' END AS status,
        CASE WHEN queued.agents IS NULL THEN 'The device belongs to no agent' END AS failure_reason,
        queued.*
    FROM (
        SELECT *
        FROM new
        WHERE agents IS NOT NULL
            OR bulk_operation IS NOT NULL
        ORDER BY place
    ) AS queued
), stored AS (
    INSERT INTO operations AS o (tenant, id, device, status, failure_reason, bulk_operation, created_at, fragments)
    SELECT tenant, id, device, status, failure_reason, bulk_operation, created_at, fragments::json
    FROM numbered
    ORDER BY place
    ON CONFLICT (tenant, bulk_operation, device) WHERE bulk_operation IS NOT NULL DO NOTHING
    RETURNING o.id
)
SELECT
    numbered.place - 1, numbered.id, numbered.created_at, numbered.status, numbered.failure_reason,
    numbered.device_name,
    numbered.agents,
    -- The external ids, for the notifications of its agents (B-04).
    CASE WHEN numbered.agents IS NOT NULL THEN ARRAY(
        SELECT json_build_array(e.type, e.value)
        FROM external_ids e
        WHERE e.tenant = numbered.tenant
            AND e.object = numbered.device
        ORDER BY e.type, e.value)
    END
FROM numbered
WHERE numbered.id = ANY(ARRAY(SELECT stored.id FROM stored))
ORDER BY numbered.place
