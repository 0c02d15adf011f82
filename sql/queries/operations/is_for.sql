-- Returns whether an agent is the nearest agent of an operation's device (O-06a). $4 is the fragment of an agent.
SELECT o.device IN (SELECT devices_of_agent($1, $3, $4))
FROM operations o
WHERE o.tenant = $1
    AND o.id = $2
