-- Does the same as withdraw_from_users.sql for groups. The affected members are announced by tenant.
UPDATE groups g
SET roles = roles_there_are(g.tenant, g.roles, $2)
WHERE g.tenant = ANY($1)
    AND g.roles <> roles_there_are(g.tenant, g.roles, $2)
RETURNING g.tenant
