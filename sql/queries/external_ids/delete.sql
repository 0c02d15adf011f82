WITH gone AS (
    DELETE FROM external_ids
    WHERE tenant = $1
        AND type = $2
        AND value = $3
        -- The external id still belongs to the object whose owner was checked.
        AND object = $4
    RETURNING tenant
)
-- Servers cache external ids, so they are notified ($5).
SELECT pg_notify('platform_users', $5)
FROM gone
