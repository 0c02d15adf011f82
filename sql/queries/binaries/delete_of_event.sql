-- The file of an event; its chunks go with it by the foreign key.
DELETE FROM binaries
WHERE tenant = $1
    AND event = $2
