-- Returns the applications that a tenant sees: its own, those of the market, and those it subscribes to (W-05). Each
-- part is read in order after $2, up to the number of rows that the page needs.
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
