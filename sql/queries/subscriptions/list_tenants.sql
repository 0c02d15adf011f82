-- Who subscribes to an application.
SELECT tenant
FROM subscriptions
WHERE application = $1
