-- Returns whether a device has an agent.
SELECT EXISTS (SELECT FROM agents_of($1, $2, $3))
