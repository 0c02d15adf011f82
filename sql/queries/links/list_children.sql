-- Direct children of some objects, in the order they were added (I-02). Parent by parent: OFFSET 0 keeps the planner from
-- taking a page of parents for a reason to read all links.
SELECT
    p.id, l.kind, l.child,
    (SELECT c.name FROM managed_objects c WHERE c.tenant = $1 AND c.id = l.child)
FROM unnest($2::bigint[]) AS p (id)
CROSS JOIN LATERAL (
    SELECT l.kind, l.child, l.position
    FROM links l
    WHERE l.tenant = $1
        AND l.parent = p.id
    OFFSET 0
) AS l
ORDER BY l.position
