-- The other living servers ($1 is this one), those first that take new clients.
SELECT incarnation, state = 'UP'
FROM servers
WHERE incarnation <> $1
    AND leased_until > now()
ORDER BY state DESC, incarnation
