-- As withdraw_from_users.sql, of groups; their members are told of by tenant.
UPDATE groups g
SET roles = roles_there_are(g.tenant, g.roles, $2)
WHERE g.tenant = ANY($1)
    AND g.roles <> roles_there_are(g.tenant, g.roles, $2)
RETURNING g.tenant
