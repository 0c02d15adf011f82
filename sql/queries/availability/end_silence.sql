-- The alarm is cleared. Unless a new one was raised meanwhile for a silence after it.
UPDATE availability
SET silent_since = NULL
WHERE tenant = $1
    AND device = $2
    AND last_message > silent_since
