-- Counts the devices of a tenant ($1), which have a fragment ($2), up to a maximum ($3); null counts all.
SELECT count(*)
FROM (
    SELECT
    FROM managed_objects o
    WHERE o.tenant = $1
        AND o.fragment_names @> ARRAY[$2::text]
    LIMIT $3
) counted
