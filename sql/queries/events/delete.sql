-- Deletes events, or those of them that have the revision, if there is one (C-23). The foreign key deletes their files.
DELETE FROM events
WHERE tenant = $1
    AND id = ANY($2)
    AND revision = coalesce($3::bigint, revision)
RETURNING id, source
