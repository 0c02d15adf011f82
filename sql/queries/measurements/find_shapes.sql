SELECT id, definition
FROM measurement_shapes
WHERE tenant = $1
    AND id = ANY($2)
