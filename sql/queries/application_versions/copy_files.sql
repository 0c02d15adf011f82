INSERT INTO application_files (tenant, binary_id, path, content_type, sha256, start, length)
SELECT $3, $4, f.path, f.content_type, f.sha256, f.start, f.length
FROM application_files f
WHERE f.tenant = $1
    AND f.binary_id = $2
