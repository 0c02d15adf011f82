-- A managed object first, then everything above it: whose it is, and the way permissions reach it.
SELECT o.id, o.owner, l.by_devices, o.name, o.fragment_names, o.type
FROM lineage($1, $2) l
JOIN managed_objects o ON o.tenant = $1 AND o.id = l.id
ORDER BY (o.id = $2) DESC
