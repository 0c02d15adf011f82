-- Gives the service users of a microservice these roles; those whose roles really change are told of.
UPDATE users
SET roles = $2
WHERE application = $1
    AND duty = 'SERVICE'
    AND roles <> $2
RETURNING tenant, name
