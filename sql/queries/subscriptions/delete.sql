-- Ends a subscription and tells whose the application is and who may see it; it is not changed until this transaction ends.
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
