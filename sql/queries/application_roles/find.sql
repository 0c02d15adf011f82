-- Returns whether a microservice to which the tenant subscribes defines the role.
SELECT EXISTS (
    SELECT 1
    FROM subscriptions s
    JOIN applications a ON a.id = s.application
    WHERE s.tenant = $1
        AND a.type = 'MICROSERVICE'
        AND $2 = ANY(a.roles))
