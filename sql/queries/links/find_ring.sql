-- Returns one of the children that is an ancestor of the parent, because linking it would close a cycle (I-04).
SELECT l.id
FROM lineage($1, $2) l
WHERE l.id = ANY($3)
LIMIT 1
