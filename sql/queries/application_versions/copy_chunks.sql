INSERT INTO binary_chunks (tenant, binary_id, number, bytes)
SELECT $3, $4, c.number, c.bytes
FROM binary_chunks c
WHERE c.tenant = $1
    AND c.binary_id = $2
