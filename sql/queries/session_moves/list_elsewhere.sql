-- Returns the sessions of a user ($1, $2) at other living servers ($3 is this one).
SELECT DISTINCT client
FROM user_sessions AS noted
JOIN servers ON servers.incarnation = noted.server AND servers.leased_until > now(),
    unnest(noted.clients) AS client
WHERE noted.tenant = $1
    AND noted.user_name = $2
    AND noted.server <> $3
