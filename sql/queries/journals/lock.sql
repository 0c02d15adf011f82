-- Locks the journal of a tenant ($1), if it is written, and returns its first and newest positions, the time of the
-- newest one and the bytes up to it.
SELECT first, newest, newest_at, bytes
FROM journals
WHERE tenant = $1
    AND is_written
FOR UPDATE
