-- Deletes all users of these microservices, in every tenant.
DELETE FROM users
WHERE application = ANY($1)
RETURNING tenant, name
