-- Returns the series of a source, sorted byte by byte, so that the order is the same in every database.
SELECT DISTINCT
    split_part(name, '.', 1) COLLATE "C" AS fragment,
    split_part(name, '.', 2) COLLATE "C" AS series
FROM source_shapes s
JOIN measurement_shapes m ON m.tenant = s.tenant AND m.id = s.shape
CROSS JOIN unnest(m.series) AS name
WHERE s.tenant = $1
    AND s.source = $2
ORDER BY fragment, series
