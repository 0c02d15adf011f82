-- Returns the server at which a consumer ($2) of a tenant ($1) is read.
SELECT reader_server
FROM consumers
WHERE tenant = $1
    AND name = $2
