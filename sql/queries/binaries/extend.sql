-- Updates the file of an event that got more bytes.
UPDATE binaries
SET
    length = $3,
    incomplete = $4,
    created_at = now()
WHERE tenant = $1
    AND id = $2
    AND incomplete
