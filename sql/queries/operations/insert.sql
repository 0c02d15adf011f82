-- Queues operations, in the order they are given, and tells which agents they are for (O-01). Left out is one whose device
-- does not exist or has no agent; but one of a bulk operation is stored as FAILED then (K-10), and left out when its device
-- has one already (K-05).
WITH RECURSIVE new AS MATERIALIZED (
    SELECT new.*, o.name AS device_name
    FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[])
        WITH ORDINALITY AS new (tenant, device, bulk_operation, fragments, place)
    JOIN managed_objects o ON o.tenant = new.tenant AND o.id = new.device
), up (tenant, device, id, is_agent) AS (
    -- From the device up by childDevices links, each way to the nearest agent.
    SELECT DISTINCT new.tenant, new.device, o.id, $5 = ANY(o.fragment_names)
    FROM new
    JOIN managed_objects o ON o.tenant = new.tenant AND o.id = new.device
    UNION
    SELECT up.tenant, up.device, above.id, above.is_agent
    FROM up
    CROSS JOIN LATERAL (
        SELECT o.id, $5 = ANY(o.fragment_names) AS is_agent
        FROM links l
        JOIN managed_objects o ON o.tenant = l.tenant AND o.id = l.parent
        WHERE l.tenant = up.tenant
            AND l.child = up.id
            AND l.kind = 'childDevices'
        OFFSET 0
    ) AS above
    WHERE NOT up.is_agent
), controlled AS (
    SELECT up.tenant, up.device, array_agg(up.id ORDER BY up.id) AS agents
    FROM up
    WHERE up.is_agent
    GROUP BY up.tenant, up.device
), numbered AS MATERIALIZED (
    SELECT
        nextval('operation_ids') AS id,
        -- Never before the one in front of it, were the clock set back.
        greatest(
            clock_timestamp(),
            (
                SELECT max(o.created_at)
                FROM operations o
                WHERE o.tenant = queued.tenant
                    AND o.device = queued.device
            ) + interval '1 microsecond') AS created_at,
        queued.*
    FROM (
        SELECT new.*, controlled.agents
        FROM new
        LEFT JOIN controlled ON controlled.tenant = new.tenant AND controlled.device = new.device
        WHERE controlled.agents IS NOT NULL
            OR new.bulk_operation IS NOT NULL
        ORDER BY new.place
    ) AS queued
), stored AS (
    INSERT INTO operations AS o (tenant, id, device, status, failure_reason, bulk_operation, created_at, fragments)
    SELECT
        tenant, id, device,
        CASE WHEN agents IS NULL THEN 'FAILED' ELSE 'PENDING' END,
        CASE WHEN agents IS NULL THEN 'The device belongs to no agent' END,
        bulk_operation, created_at, fragments::json
    FROM numbered
    ORDER BY place
    ON CONFLICT (tenant, bulk_operation, device) WHERE bulk_operation IS NOT NULL DO NOTHING
    RETURNING o.id, o.status, o.failure_reason
)
SELECT
    numbered.place - 1, stored.id, numbered.created_at, stored.status, stored.failure_reason, numbered.device_name,
    numbered.agents,
    -- What its agents are told with it (B-04).
    CASE WHEN numbered.agents IS NOT NULL THEN ARRAY(
        SELECT json_build_array(e.type, e.value)
        FROM external_ids e
        WHERE e.tenant = numbered.tenant
            AND e.object = numbered.device
        ORDER BY e.type, e.value)
    END
FROM numbered
JOIN stored ON stored.id = numbered.id
ORDER BY numbered.place
