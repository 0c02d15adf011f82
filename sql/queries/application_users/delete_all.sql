-- Every user of a microservice, in whichever tenant.
DELETE FROM users
WHERE application = $1
RETURNING tenant, name
