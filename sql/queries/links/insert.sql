-- Inserts links. A link that exists keeps its position (I-04).
INSERT INTO links (tenant, kind, parent, child)
SELECT $1, $2, added.parent, added.child
FROM unnest($3::bigint[], $4::bigint[]) WITH ORDINALITY AS added (parent, child, place)
ORDER BY added.place
ON CONFLICT DO NOTHING
