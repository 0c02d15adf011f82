-- The other living servers ($1 is this one) that take new clients. If there is none, all stop: then each hands its
-- sessions to an older one, and the oldest stores them.
WITH living AS (
    SELECT incarnation, state
    FROM servers
    WHERE incarnation <> $1
        AND leased_until > now()
)
SELECT incarnation
FROM living
WHERE state = 'UP'
    OR NOT EXISTS (SELECT FROM living WHERE state = 'UP')
    AND incarnation < $1
ORDER BY incarnation
