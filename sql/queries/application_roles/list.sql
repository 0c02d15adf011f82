-- Returns the roles that microservices to which the tenant subscribes define, each once.
SELECT DISTINCT defined.role COLLATE "C" AS role
FROM subscriptions s
JOIN applications a ON a.id = s.application
CROSS JOIN unnest(a.roles) AS defined (role)
WHERE s.tenant = $1
    AND a.type = 'MICROSERVICE'
ORDER BY role
LIMIT $2
