-- Returns the shapes a source has sent, in the order of their first use (G-06).
SELECT shape
FROM source_shapes
WHERE tenant = $1
    AND source = $2
ORDER BY first, shape
