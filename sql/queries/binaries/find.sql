SELECT id, name, content_type, length
FROM binaries
WHERE tenant = $1
    AND object = $2
