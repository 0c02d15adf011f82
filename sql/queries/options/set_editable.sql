-- Sets whether a tenant may write an option that is stored or, with the value $4, predefined.
INSERT INTO options AS o (tenant, category, key, value, editable)
SELECT $1, $2, $3, known.value, $5
FROM (
    SELECT stored.value
    FROM options stored
    WHERE stored.tenant = $1
        AND stored.category = $2
        AND stored.key = $3
    UNION ALL
    SELECT $4::text
    WHERE $4::text IS NOT NULL
    LIMIT 1
) known
ON CONFLICT (tenant, category, key)
DO UPDATE SET editable = excluded.editable
RETURNING o.value
