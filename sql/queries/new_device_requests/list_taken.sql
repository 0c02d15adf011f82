-- Returns those of the given ids for which any tenant has a request (N-07).
SELECT id
FROM new_device_requests
WHERE id = ANY($1)
    -- A request is gone when its credentials can no longer be collected (N-08).
    AND (credentials_until IS NULL OR credentials_until > now())
