-- An object and everything below it by links of some kinds. UNION drops what was seen, so that a ring ends.
CREATE FUNCTION descendants(of_tenant text, of_object bigint, by_kinds text[]) RETURNS SETOF bigint
    LANGUAGE sql STABLE PARALLEL SAFE ROWS 100 AS $$
    WITH RECURSIVE below (id) AS (
        VALUES (of_object)
        UNION
        SELECT l.child
        FROM below
        CROSS JOIN LATERAL (
            SELECT l.child
            FROM links l
            WHERE l.tenant = of_tenant
                AND l.parent = below.id
                AND l.kind = ANY(by_kinds)
            OFFSET 0
        ) AS l
    )
    SELECT below.id FROM below
$$;
