DELETE FROM alarms
WHERE tenant = $1
    AND id = ANY(ARRAY(
        SELECT a.id
        FROM alarms a
        WHERE a.tenant = $1
            AND a.id = ANY($2)
            -- The alarm still matches the filters.
            AND (cardinality($3::text[]) = 0 OR a.status = ANY($3))
            AND (cardinality($4::text[]) = 0 OR a.severity = ANY($4))
        -- Locked in one order, so that two deletions cannot deadlock.
        ORDER BY a.id
        FOR UPDATE))
RETURNING id, source
