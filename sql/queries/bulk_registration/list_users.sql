-- Returns those of the given users that exist, each with the transaction that wrote it last.
SELECT found.name, found.writer
FROM unnest($2::text[]) AS given (name)
-- Each user is looked up by its key, as in `list_taken.sql`.
CROSS JOIN LATERAL (
    SELECT u.name, u.xmin::text::bigint AS writer
    FROM users u
    WHERE u.tenant = $1
        AND u.name = given.name
    LIMIT 1
) AS found
