-- Looks up a set by its X-Id first, then by the id of its object. The fragment is null if the caller knows this
-- version.
SELECT o.id, o.xmin::text, CASE WHEN o.id = $6 AND o.xmin::text = $7 THEN NULL ELSE (o.fragments -> $4)::text END
FROM (
    SELECT e.object AS id, 0 AS rank
    FROM external_ids e
    WHERE e.tenant = $1
        AND e.type = $3
        AND e.value = $2
    UNION ALL
    SELECT $5::bigint, 1
) AS named
JOIN managed_objects o ON o.tenant = $1 AND o.id = named.id
WHERE o.fragments ? $4
ORDER BY named.rank
LIMIT 1
