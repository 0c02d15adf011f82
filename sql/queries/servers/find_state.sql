-- Returns the state that the operator wants of the server that holds a slot.
SELECT state
FROM servers
WHERE slot = $1
    AND incarnation = $2
