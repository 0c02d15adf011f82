-- The copy says of itself what the original does. Its context path is its own.
UPDATE applications a
SET
    active_version = $4,
    manifest = o.manifest
FROM applications o
WHERE o.tenant = $1
    AND o.id = $2
    AND a.tenant = $3
    AND a.id = $4
