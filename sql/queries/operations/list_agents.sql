-- Returns the agents of a device with the presence of their users and, for watched ones, the last message. The latest
-- `connected_until` is the time of the disconnect when it is past.
SELECT o.id, o.name, o.owner, p.connected_until > now(), p.connected_until, v.last_message
FROM agents_of($1, $2, $3) AS agent (id)
JOIN managed_objects o ON o.tenant = $1 AND o.id = agent.id
LEFT JOIN LATERAL (
    SELECT max(p.connected_until) AS connected_until
    FROM presence p
    WHERE p.tenant = o.tenant
        AND p.user_name = o.owner
) AS p ON true
LEFT JOIN availability v ON v.tenant = o.tenant AND v.device = o.id
ORDER BY o.id
