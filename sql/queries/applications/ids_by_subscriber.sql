-- Returns the applications a tenant subscribes to (W-08). The requesting tenant is ignored.
SELECT s.application
FROM subscriptions s
WHERE s.tenant = $4
    AND s.application > $2
    AND $1::text IS NOT NULL
ORDER BY s.application
LIMIT $3
