-- Notes that the alarm was cleared, unless a new one was raised meanwhile for a later silence.
UPDATE availability
SET silent_since = NULL
WHERE tenant = $1
    AND device = $2
    AND last_message > silent_since
