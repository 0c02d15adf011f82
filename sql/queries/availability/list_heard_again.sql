-- Returns devices that have sent messages again and whose unavailability alarm was not cleared, because a server died
-- in between.
SELECT tenant, device
FROM availability
WHERE last_message > silent_since
LIMIT $1
