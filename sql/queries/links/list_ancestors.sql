-- Parents of some objects and the parents of those, by links of one kind; direct ones first (I-02). UNION drops what was
-- seen, so that a ring of additions ends.
WITH RECURSIVE above (object, kind, parent) AS (
    SELECT l.child, l.kind, l.parent
    FROM links l
    WHERE l.tenant = $1
        AND l.child = ANY($2)
    UNION
    SELECT above.object, above.kind, l.parent
    FROM above
    JOIN links l ON l.tenant = $1 AND l.child = above.parent AND l.kind = above.kind
)
SELECT above.object, above.kind, above.parent, p.name
FROM above
JOIN managed_objects p ON p.tenant = $1 AND p.id = above.parent
LEFT JOIN links direct
    ON direct.tenant = $1 AND direct.parent = above.parent
    AND direct.kind = above.kind AND direct.child = above.object
WHERE above.parent <> above.object
ORDER BY direct.position NULLS LAST, above.parent
