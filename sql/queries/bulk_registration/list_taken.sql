-- Returns the positions of those of the given external ids that are in use.
SELECT given.place
FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS given (type, value, place)
-- Each id is looked up by its key, so that the planner cannot scan those of the tenant, which grow while a file is
-- read.
CROSS JOIN LATERAL (
    SELECT
    FROM external_ids e
    WHERE e.tenant = $1
        AND e.type = given.type
        AND e.value = given.value
    LIMIT 1
) AS taken
