-- Takes from users of these tenants every role that is neither one of the platform's ($2) nor defined by a microservice
-- that the tenant subscribes to.
UPDATE users u
SET roles = roles_there_are(u.tenant, u.roles, $2)
WHERE u.tenant = ANY($1)
    -- What a service user holds is its application's to say.
    AND u.application IS NULL
    -- The words of the index that leaves devices out.
    AND NOT u.roles <@ '{ROLE_USER_MANAGEMENT_OWN_ADMIN,ROLE_USER_MANAGEMENT_OWN_READ}'::text[]
    AND u.roles <> roles_there_are(u.tenant, u.roles, $2)
RETURNING u.tenant, u.name
