-- Returns the subscribers of an application.
SELECT tenant
FROM subscriptions
WHERE application = $1
