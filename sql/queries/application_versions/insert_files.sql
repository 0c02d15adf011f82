INSERT INTO application_files (tenant, binary_id, path, content_type, sha256, start, length)
SELECT $1, $2, new.path, new.content_type, new.sha256, new.start, new.length
FROM unnest($3::text[], $4::text[], $5::bytea[], $6::bigint[], $7::bigint[])
    AS new (path, content_type, sha256, start, length)
