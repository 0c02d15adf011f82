-- Withdraws from users of these tenants every role that neither the platform ($2) nor a microservice to which the
-- tenant subscribes defines.
UPDATE users u
SET roles = roles_there_are(u.tenant, u.roles, $2)
WHERE u.tenant = ANY($1)
    -- The roles of a service user follow from its application.
    AND u.application IS NULL
    -- The condition of the partial index that leaves devices out.
    AND NOT u.roles <@ '{ROLE_USER_MANAGEMENT_OWN_ADMIN,ROLE_USER_MANAGEMENT_OWN_READ}'::text[]
    AND u.roles <> roles_there_are(u.tenant, u.roles, $2)
RETURNING u.tenant, u.name
