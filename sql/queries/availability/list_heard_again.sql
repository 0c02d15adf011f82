-- Devices that were heard while the alarm of their silence was not cleared: by a server that died in between.
SELECT tenant, device
FROM availability
WHERE last_message > silent_since
LIMIT $1
