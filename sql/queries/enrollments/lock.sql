-- Returns the key for which a one-time password was used, and the group of the device, and locks the registration until
-- the transaction ends.
SELECT r.enrolled_key, r.group_id
FROM new_device_requests r
WHERE r.tenant = $1
    AND r.id = $2
    AND r.enrollment_hash = $3
    AND (r.enrolled_until IS NULL OR r.enrolled_until > now())
FOR UPDATE
