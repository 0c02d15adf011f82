INSERT INTO options AS o (tenant, category, key, value)
SELECT $1, new.category, new.key, new.value
FROM unnest($2::text[], $3::text[], $4::text[]) AS new (category, key, value)
ORDER BY new.category, new.key
ON CONFLICT (tenant, category, key)
DO UPDATE SET value = excluded.value
-- Nobody made the option read-only meanwhile.
WHERE o.editable
