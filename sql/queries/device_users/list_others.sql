-- Returns those of the given users that have more rights than a device (N-08a).
SELECT u.name
FROM unnest($2::text[]) AS given (name)
-- Each user is looked up by its key.
CROSS JOIN LATERAL (
    SELECT u.*
    FROM users u
    WHERE u.tenant = $1
        AND u.name = given.name
    LIMIT 1
) AS u
WHERE NOT is_mere_device(u, $3, $4)
