UPDATE binaries
SET
    name = $3,
    content_type = $4,
    length = $5
WHERE tenant = $1
    AND id = $2
    AND object IS NULL
    AND event IS NULL
    AND application IS NULL
