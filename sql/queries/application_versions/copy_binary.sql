-- Copies the binary of one application to another.
INSERT INTO binaries (tenant, id, application, name, content_type, length, created_at)
SELECT $3, $4, $4, b.name, b.content_type, b.length, now()
FROM binaries b
WHERE b.tenant = $1
    AND b.id = $2
