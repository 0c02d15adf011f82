-- Returns the chunk that contains the byte at a place, and the number of bytes before that chunk. The length of a value
-- that is stored out of line is in the row itself, so no bytes are read.
SELECT
    l.number,
    l.chunk_end - l.length
FROM (
    SELECT
        number,
        octet_length(bytes)::bigint AS length,
        (sum(octet_length(bytes)) OVER (ORDER BY number))::bigint AS chunk_end
    FROM binary_chunks
    WHERE tenant = $1
        AND binary_id = $2
) l
WHERE $3::bigint < l.chunk_end
ORDER BY l.number
LIMIT 1
