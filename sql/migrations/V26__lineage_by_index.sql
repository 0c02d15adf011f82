-- The lineage of an object, as before, but each step is one look-up in the index of links by child. Without OFFSET 0 the
-- planner joins the links of the whole tenant when it believes that there are few, as it does before its first statistics.
CREATE OR REPLACE FUNCTION lineage(of_tenant text, of_object bigint) RETURNS TABLE (id bigint, by_devices boolean)
    LANGUAGE sql STABLE PARALLEL SAFE ROWS 5 AS $$
    WITH RECURSIVE above (id, by_devices) AS (
        VALUES (of_object, true)
        UNION
        SELECT l.parent, above.by_devices AND l.kind = 'childDevices'
        FROM above
        CROSS JOIN LATERAL (
            SELECT l.parent, l.kind
            FROM links l
            WHERE l.tenant = of_tenant
                AND l.child = above.id
                AND l.kind IN ('childDevices', 'childAssets')
            OFFSET 0
        ) AS l
    )
    SELECT above.id, bool_or(above.by_devices) FROM above GROUP BY above.id
$$;
