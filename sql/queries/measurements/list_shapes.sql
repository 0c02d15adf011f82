-- Returns the shapes that match the filters; a null filter is not set. With a source, only the shapes that it has sent.
SELECT m.id
FROM measurement_shapes m
WHERE m.tenant = $1
    AND ($2::text IS NULL OR m.type = $2)
    AND ($3::text IS NULL OR m.members @> ARRAY[$3])
    AND ($4::text IS NULL OR m.fragments @> ARRAY[$4])
    AND ($5::text IS NULL OR m.series @> ARRAY[$5])
    -- The names of fragments and series contain no dot (G-03).
    AND ($6::text IS NULL OR EXISTS (SELECT FROM unnest(m.series) AS s (name) WHERE split_part(s.name, '.', 2) = $6))
    AND ($7::bigint IS NULL
        OR m.id IN (SELECT s.shape FROM source_shapes s WHERE s.tenant = $1 AND s.source = $7))
