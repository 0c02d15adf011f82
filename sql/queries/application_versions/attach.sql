-- Attaches an upload to an application, once.
UPDATE binaries
SET application = $3
WHERE tenant = $1
    AND id = $2
    AND object IS NULL
    AND event IS NULL
    AND application IS NULL
