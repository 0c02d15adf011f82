WITH gone AS (
    DELETE FROM external_ids
    WHERE tenant = $1
        AND type = $2
        AND value = $3
        -- The premise: it still names the object whose owner was asked for.
        AND object = $4
    RETURNING tenant
)
-- Servers remember what names stand for.
SELECT pg_notify('platform_users', gone.tenant || '/+names')
FROM gone
