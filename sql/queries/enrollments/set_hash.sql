-- Sets the one-time password of a registration.
UPDATE new_device_requests
SET
    enrollment_hash = $3,
    enrolled_key = NULL,
    enrolled_until = NULL
WHERE tenant = $1
    AND id = $2
