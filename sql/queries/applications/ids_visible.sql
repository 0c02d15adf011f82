-- What a tenant sees: its own applications, those of the market, and those it subscribes to (W-05). Each part is read in
-- order behind $2, as many as the page needs at most.
(
    SELECT a.id
    FROM applications a
    WHERE a.tenant = $1
        AND a.id > $2
    ORDER BY a.id
    LIMIT $3
)
UNION
(
    SELECT a.id
    FROM applications a
    WHERE a.availability = 'MARKET'
        AND a.id > $2
    ORDER BY a.id
    LIMIT $3
)
UNION
(
    SELECT s.application
    FROM subscriptions s
    WHERE s.tenant = $1
        AND s.application > $2
    ORDER BY s.application
    LIMIT $3
)
