-- What was uploaded for it goes by the foreign key.
DELETE FROM applications
WHERE tenant = $1
    AND id = $2
