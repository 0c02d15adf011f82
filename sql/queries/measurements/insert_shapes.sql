-- Stores new shapes.
INSERT INTO measurement_shapes (tenant, id, type, members, fragments, series, definition)
SELECT
    new.tenant, new.id, new.definition ->> 'type',
    ARRAY(
        SELECT fragment ->> 'name'
        FROM json_array_elements(new.definition -> 'fragments') AS fragment
        UNION ALL
        SELECT json_array_elements_text(coalesce(new.definition -> 'others', '[]'))),
    ARRAY(
        SELECT fragment ->> 'name'
        FROM json_array_elements(new.definition -> 'fragments') AS fragment),
    ARRAY(
        SELECT (fragment ->> 'name') || '.' || (series ->> 'name')
        FROM json_array_elements(new.definition -> 'fragments') WITH ORDINALITY AS f (fragment, place)
        CROSS JOIN json_array_elements(fragment -> 'series') WITH ORDINALITY AS s (series, at)
        ORDER BY place, at),
    new.definition
FROM (
    SELECT tenant, id, definition::json
    FROM unnest($1::text[], $2::bigint[], $3::text[]) AS new (tenant, id, definition)
) AS new
ON CONFLICT DO NOTHING
