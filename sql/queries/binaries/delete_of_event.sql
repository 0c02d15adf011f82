-- Deletes the file of an event. The foreign key deletes its chunks.
DELETE FROM binaries
WHERE tenant = $1
    AND event = $2
