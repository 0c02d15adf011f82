-- Returns the applications of other tenants that a tenant ($1) has subscribed to.
SELECT a.id, a.tenant, a.name
FROM subscriptions s
JOIN applications a ON a.id = s.application
WHERE s.tenant = $1
    AND a.tenant <> $1
ORDER BY a.id
