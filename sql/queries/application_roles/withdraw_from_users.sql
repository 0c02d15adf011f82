-- Takes from users of these tenants every role that is neither one of the platform's ($2) nor defined by a microservice
-- that the tenant subscribes to.
UPDATE users u
SET roles = ARRAY(
    SELECT held.role
    FROM unnest(u.roles) WITH ORDINALITY AS held (role, place)
    WHERE held.role = ANY($2)
        OR EXISTS (
            SELECT 1
            FROM subscriptions s
            JOIN applications a ON a.id = s.application
            WHERE s.tenant = u.tenant
                AND a.type = 'MICROSERVICE'
                AND held.role = ANY(a.roles))
    ORDER BY held.place)
WHERE u.tenant = ANY($1)
    -- What a service user holds is its application's to say.
    AND u.application IS NULL
    -- The words of the index that leaves devices out.
    AND NOT u.roles <@ '{ROLE_USER_MANAGEMENT_OWN_ADMIN,ROLE_USER_MANAGEMENT_OWN_READ}'::text[]
    AND EXISTS (
        SELECT 1
        FROM unnest(u.roles) AS held (role)
        WHERE held.role <> ALL($2)
            AND NOT EXISTS (
                SELECT 1
                FROM subscriptions s
                JOIN applications a ON a.id = s.application
                WHERE s.tenant = u.tenant
                    AND a.type = 'MICROSERVICE'
                    AND held.role = ANY(a.roles)))
RETURNING u.tenant, u.name
