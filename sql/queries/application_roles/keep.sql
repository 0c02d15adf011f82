-- Returns whether a microservice to which the tenant subscribes defines the role, and keeps this so until the
-- transaction ends.
SELECT a.id
FROM subscriptions s
JOIN applications a ON a.id = s.application
WHERE s.tenant = $1
    AND a.type = 'MICROSERVICE'
    AND $2 = ANY(a.roles)
LIMIT 1
FOR SHARE OF s, a
