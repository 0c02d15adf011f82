-- Deletes an application. The foreign key deletes its uploaded version.
DELETE FROM applications
WHERE tenant = $1
    AND id = $2
