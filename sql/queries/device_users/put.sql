-- Creates users of devices, as members of `devices`; one that exists already gets the new password and nothing else (N-08,
-- N-13). Left out is who holds more than a device does (N-08a), and what is of a tenant that does not exist. A name is given once.
WITH put AS (
    INSERT INTO users AS u (tenant, name, password_hash, enabled, roles, created_at)
    SELECT t.id, given.name, given.password_hash, true, $4::text[], now()
    FROM unnest($1::text[], $2::text[], $3::text[]) AS given (tenant, name, password_hash)
    JOIN tenants t ON t.id = given.tenant
    -- In one order, so that two that put the same users wait for each other in it.
    ORDER BY t.id, given.name
    ON CONFLICT (tenant, name) DO UPDATE
    SET
        password_hash = excluded.password_hash,
        password_changed_at = now()
    WHERE is_mere_device(u, $5, $4)
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
