-- Returns direct children of some objects, in the order in which they were added (I-02). OFFSET 0 makes the planner
-- process parent by parent; otherwise it might read all links for a page of parents.
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
