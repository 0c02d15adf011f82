-- Creates users of devices, as members of `devices`. A user that exists gets the new password and nothing else (N-08,
-- N-13). A user is left out when it has more rights than a device (N-08a), when it exists and there is no password
-- (N-12b), or when its tenant does not exist. Each name occurs once.
WITH put AS (
    INSERT INTO users AS u (tenant, name, password_hash, enabled, roles, created_at)
    SELECT t.id, given.name, given.password_hash, true, $4::text[], now()
    FROM unnest($1::text[], $2::text[], $3::text[]) AS given (tenant, name, password_hash)
    JOIN tenants t ON t.id = given.tenant
    -- Locked in one order, so that two concurrent statements cannot deadlock.
    ORDER BY t.id, given.name
    ON CONFLICT (tenant, name) DO UPDATE
    SET
        password_hash = excluded.password_hash,
        password_changed_at = now()
    WHERE excluded.password_hash IS NOT NULL
        AND is_mere_device(u, $5, $4)
    RETURNING u.tenant, u.name, u.xmax = 0 AS created
), joined AS (
    INSERT INTO group_members (tenant, group_id, user_name)
    SELECT put.tenant, g.id, put.name
    FROM put
    JOIN groups g ON g.tenant = put.tenant AND g.name = $5
    WHERE put.created
)
SELECT tenant, name, created
FROM put
