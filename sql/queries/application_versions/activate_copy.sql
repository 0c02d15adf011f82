-- Activates the copied version of a clone, with the manifest of the original. The clone has its own context path.
UPDATE applications a
SET
    active_version = $4,
    manifest = o.manifest
FROM applications o
WHERE o.tenant = $1
    AND o.id = $2
    AND a.tenant = $3
    AND a.id = $4
