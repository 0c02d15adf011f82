-- Returns the server at which a consumer ($2) of a tenant ($1) is read, its position, whether it has lapsed, and its
-- filter.
SELECT reader_server, position, lapsed_at IS NOT NULL, filter
FROM consumers
WHERE tenant = $1
    AND name = $2
