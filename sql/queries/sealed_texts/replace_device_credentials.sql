-- Replaces the password that a device may collect once more.
UPDATE new_device_requests
SET sealed_password = $3
WHERE tenant = $1
    AND id = $2
