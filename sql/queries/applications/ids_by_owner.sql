-- Returns the applications of an owner that a tenant sees (W-08).
(
    SELECT a.id
    FROM applications a
    WHERE a.tenant = $4
        AND a.tenant = $1
        AND a.id > $2
    ORDER BY a.id
    LIMIT $3
)
UNION
(
    SELECT a.id
    FROM applications a
    WHERE a.tenant = $4
        AND a.availability = 'MARKET'
        AND a.id > $2
    ORDER BY a.id
    LIMIT $3
)
UNION
(
    SELECT s.application
    FROM subscriptions s
    JOIN applications a ON a.id = s.application
    WHERE s.tenant = $1
        AND a.tenant = $4
        AND s.application > $2
    ORDER BY s.application
    LIMIT $3
)
