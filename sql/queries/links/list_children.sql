-- Direct children of some objects, in the order they were added (I-02).
SELECT l.parent, l.kind, l.child, c.name
FROM links l
JOIN managed_objects c ON c.tenant = l.tenant AND c.id = l.child
WHERE l.tenant = $1
    AND l.parent = ANY($2)
ORDER BY l.position
