-- Stores the password of a locked request until it is used or expires (N-08).
UPDATE new_device_requests
SET
    sealed_password = $3,
    credentials_until = clock_timestamp() + make_interval(secs => $4)
WHERE tenant = $1
    AND id = $2
