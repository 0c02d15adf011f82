-- Ends a subscription, returns owner and availability of the application, and locks the application until the
-- transaction ends.
WITH kept AS (
    SELECT a.id, a.tenant, a.availability
    FROM applications a
    WHERE a.id = $2
    FOR SHARE
)
DELETE FROM subscriptions s
USING kept
WHERE s.tenant = $1
    AND s.application = kept.id
RETURNING kept.tenant, kept.availability
