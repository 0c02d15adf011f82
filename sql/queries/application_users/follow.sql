-- Sets the roles of the service users of a microservice and returns the users whose roles changed.
UPDATE users
SET roles = $2
WHERE application = $1
    AND duty = 'SERVICE'
    AND roles <> $2
RETURNING tenant, name
