UPDATE new_device_requests
SET status = $3
WHERE tenant = $1
    AND id = $2
