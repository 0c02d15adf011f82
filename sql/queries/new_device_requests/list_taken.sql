-- Which of some ids have a request, in whatever tenant (N-07).
SELECT id
FROM new_device_requests
WHERE id = ANY($1)
    -- One whose time to collect its credentials is over is gone (N-08).
    AND (credentials_until IS NULL OR credentials_until > now())
