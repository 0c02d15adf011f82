-- Of some paths those that there are.
SELECT path, content_type, sha256, start, length
FROM application_files
WHERE tenant = $1
    AND binary_id = $2
    AND path = ANY ($3)
