SELECT bytes
FROM binary_chunks
WHERE tenant = $1
    AND binary_id = $2
    AND number = $3
