-- Every user of these microservices, in whichever tenant.
DELETE FROM users
WHERE application = ANY($1)
RETURNING tenant, name
