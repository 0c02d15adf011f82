-- As withdraw_from_users.sql, of groups; their members are told of by tenant.
UPDATE groups g
SET roles = ARRAY(
    SELECT held.role
    FROM unnest(g.roles) WITH ORDINALITY AS held (role, place)
    WHERE held.role = ANY($2)
        OR EXISTS (
            SELECT 1
            FROM subscriptions s
            JOIN applications a ON a.id = s.application
            WHERE s.tenant = g.tenant
                AND a.type = 'MICROSERVICE'
                AND held.role = ANY(a.roles))
    ORDER BY held.place)
WHERE g.tenant = ANY($1)
    AND EXISTS (
        SELECT 1
        FROM unnest(g.roles) AS held (role)
        WHERE held.role <> ALL($2)
            AND NOT EXISTS (
                SELECT 1
                FROM subscriptions s
                JOIN applications a ON a.id = s.application
                WHERE s.tenant = g.tenant
                    AND a.type = 'MICROSERVICE'
                    AND held.role = ANY(a.roles)))
RETURNING g.tenant
