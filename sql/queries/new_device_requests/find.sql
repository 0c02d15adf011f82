SELECT r.id, r.status, r.owner, r.created_at, r.group_id, r.number
FROM new_device_requests r
WHERE r.tenant = $1
    AND r.id = $2
    -- A request is gone when its credentials can no longer be collected (N-08).
    AND (r.credentials_until IS NULL OR r.credentials_until > now())
