-- As many as list_service_users.sql shows.
SELECT count(*)
FROM users u
WHERE u.application = $1
    AND u.duty = 'SERVICE'
