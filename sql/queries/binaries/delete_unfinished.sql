-- Deletes an abandoned upload, unless it was attached.
DELETE FROM binaries
WHERE tenant = $1
    AND id = $2
    AND object IS NULL
    AND event IS NULL
    AND application IS NULL
