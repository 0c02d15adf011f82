-- Puts new objects into groups, in the order of the file. None of them can stand above its group: they are new.
INSERT INTO links (tenant, kind, parent, child)
SELECT $1, 'childAssets', added.parent, added.child
FROM unnest($2::bigint[], $3::bigint[]) WITH ORDINALITY AS added (parent, child, place)
ORDER BY added.place
