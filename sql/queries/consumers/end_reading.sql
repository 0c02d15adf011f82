-- Notes that consumers ($2) of tenants ($1) are no longer read at a server ($3).
UPDATE consumers
SET reader_server = NULL,
    reader_way = NULL,
    reader_since = NULL,
    reader_address = NULL,
    reader_session = NULL
FROM unnest($1::text[], $2::text[]) AS ended (tenant, name)
WHERE consumers.tenant = ended.tenant
    AND consumers.name = ended.name
    AND consumers.reader_server = $3
