-- Counts the rows of list_service_users.sql.
SELECT count(*)
FROM users u
WHERE u.application = $1
    AND u.duty = 'SERVICE'
