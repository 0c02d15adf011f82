-- Returns those of the given paths at which there is a file.
SELECT path, content_type, sha256, start, length
FROM application_files
WHERE tenant = $1
    AND binary_id = $2
    AND path = ANY ($3)
