-- Returns a managed object first and then all of its ancestors, each with its owner and whether the path to it has
-- childDevices links only.
SELECT o.id, o.owner, l.by_devices, o.name, o.fragment_names, o.type
FROM lineage($1, $2) l
JOIN managed_objects o ON o.tenant = $1 AND o.id = l.id
ORDER BY (o.id = $2) DESC
