-- Ends every subscription to an application.
DELETE FROM subscriptions
WHERE application = $1
RETURNING tenant
