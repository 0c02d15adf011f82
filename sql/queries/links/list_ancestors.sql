-- Returns the ancestors of some objects by links of one kind, direct parents first (I-02). UNION drops rows that were
-- seen before, so a cycle of additions ends. OFFSET 0 makes the planner process object by object, as for children. $3
-- says whether names are returned (I-01a).
WITH RECURSIVE above (object, kind, parent, position) AS (
    SELECT o.id, l.kind, l.parent, l.position
    FROM unnest($2::bigint[]) AS o (id)
    CROSS JOIN LATERAL (
        SELECT l.kind, l.parent, l.position
        FROM links l
        WHERE l.tenant = $1
            AND l.child = o.id
        OFFSET 0
    ) AS l
    UNION
    SELECT above.object, above.kind, l.parent, NULL
    FROM above
    CROSS JOIN LATERAL (
        SELECT l.parent
        FROM links l
        WHERE l.tenant = $1
            AND l.child = above.parent
            AND l.kind = above.kind
        OFFSET 0
    ) AS l
)
SELECT
    above.object, above.kind, above.parent,
    CASE WHEN $3 THEN (SELECT p.name FROM managed_objects p WHERE p.tenant = $1 AND p.id = above.parent) END
FROM above
WHERE above.parent <> above.object
GROUP BY above.object, above.kind, above.parent
ORDER BY min(above.position) NULLS LAST, above.parent
