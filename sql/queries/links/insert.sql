-- A child that is linked already stays where it is (I-04).
INSERT INTO links (tenant, kind, parent, child)
SELECT $1, $2, $3, added.child
FROM unnest($4::bigint[]) WITH ORDINALITY AS added (child, place)
ORDER BY added.place
ON CONFLICT DO NOTHING
