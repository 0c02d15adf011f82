-- Notes the first use of a one-time password. The registration ends some time after it.
UPDATE new_device_requests
SET
    enrolled_key = $3,
    enrolled_until = coalesce(enrolled_until, now() + make_interval(secs => $4))
WHERE tenant = $1
    AND id = $2
