SELECT DISTINCT split_part(name, '.', 1) AS fragment, split_part(name, '.', 2) AS series
FROM source_shapes s
JOIN measurement_shapes m ON m.tenant = s.tenant AND m.id = s.shape
CROSS JOIN unnest(m.series) AS name
WHERE s.tenant = $1
    AND s.source = $2
ORDER BY fragment, series
