-- Returns whether an object is a dynamic group, with its query, a static group or a device.
SELECT
    o.fragment_names @> ARRAY[$3::text],
    o.fragment_names @> ARRAY[$4::text],
    o.fragment_names @> ARRAY[$5::text],
    CASE jsonb_typeof(o.fragments -> $6) WHEN 'string' THEN o.fragments ->> $6 END
FROM managed_objects o
WHERE o.tenant = $1
    AND o.id = $2
