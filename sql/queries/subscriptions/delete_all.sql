-- Ends every subscription to these applications.
DELETE FROM subscriptions
WHERE application = ANY($1)
RETURNING tenant
