-- Deletes a request whose credentials were used, but not a later request for the same device.
DELETE FROM new_device_requests
WHERE tenant = $1
    AND id = $2
    AND credentials_until = $3
