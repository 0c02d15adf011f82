-- Which of some external ids are taken, by their place in the list.
SELECT given.place
FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS given (type, value, place)
-- Each by its key: so that nobody thinks of going through those of the tenant, which grow while a file is read.
CROSS JOIN LATERAL (
    SELECT
    FROM external_ids e
    WHERE e.tenant = $1
        AND e.type = given.type
        AND e.value = given.value
    LIMIT 1
) AS taken
