-- Counts the objects of each tenant that have child devices, with one step into the index of links for each parent.
WITH RECURSIVE parents (tenant, parent) AS (
    (SELECT l.tenant, l.parent FROM links l ORDER BY l.tenant, l.parent LIMIT 1)
    UNION ALL
    SELECT next.tenant, next.parent
    FROM parents p
    CROSS JOIN LATERAL (
        SELECT l.tenant, l.parent
        FROM links l
        WHERE (l.tenant, l.parent) > (p.tenant, p.parent)
        ORDER BY l.tenant, l.parent
        LIMIT 1
    ) AS next
)
SELECT p.tenant, count(*)
FROM parents p
CROSS JOIN LATERAL (
    SELECT
    FROM links l
    WHERE l.tenant = p.tenant
        AND l.parent = p.parent
        AND l.kind = 'childDevices'
    LIMIT 1
) AS with_devices
GROUP BY p.tenant
