DELETE FROM alarms
WHERE tenant = $1
    AND id = ANY(ARRAY(
        SELECT a.id
        FROM alarms a
        WHERE a.tenant = $1
            AND a.id = ANY($2)
            -- The premises: it is still what the filters ask for.
            AND (cardinality($3::text[]) = 0 OR a.status = ANY($3))
            AND (cardinality($4::text[]) = 0 OR a.severity = ANY($4))
        -- In one order, so that two deletions never wait for each other.
        ORDER BY a.id
        FOR UPDATE))
RETURNING id, source
