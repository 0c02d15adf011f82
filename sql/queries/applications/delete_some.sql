-- Deletes applications. The foreign key deletes their uploaded versions.
DELETE FROM applications
WHERE tenant = $1
    AND id = ANY($2)
