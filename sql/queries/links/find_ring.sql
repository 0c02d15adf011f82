-- Which of some children stand above the parent already: linking them would close a ring (I-04).
SELECT l.id
FROM lineage($1, $2) l
WHERE l.id = ANY($3)
LIMIT 1
