-- Creates the user of a device that registers by its certificate, as a member of `devices` and without a password.
-- A user that exists is not changed.
WITH registered AS (
    INSERT INTO users (tenant, name, password_hash, enabled, roles, created_at)
    SELECT t.id, $2, NULL, true, $3::text[], now()
    FROM tenants t
    WHERE t.id = $1
    ON CONFLICT (tenant, name) DO NOTHING
    RETURNING tenant, name
)
INSERT INTO group_members (tenant, group_id, user_name)
SELECT r.tenant, g.id, r.name
FROM registered r
JOIN groups g ON g.tenant = r.tenant AND g.name = $4
