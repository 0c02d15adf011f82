-- Returns an external id of this type for each object; of several ids the first.
SELECT DISTINCT ON (e.object) e.object, e.value
FROM external_ids e
WHERE e.tenant = $1
    AND e.object = ANY($2)
    AND e.type = $3
ORDER BY e.object, e.value
