-- Attaches an upload to an event, once.
UPDATE binaries
SET
    event = $3,
    incomplete = $4,
    created_at = now()
WHERE tenant = $1
    AND id = $2
    AND object IS NULL
    AND event IS NULL
    AND application IS NULL
