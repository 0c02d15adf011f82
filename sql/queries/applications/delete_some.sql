-- What was uploaded for them goes by the foreign key.
DELETE FROM applications
WHERE tenant = $1
    AND id = ANY($2)
