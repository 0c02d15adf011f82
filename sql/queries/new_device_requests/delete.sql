-- Deletes a request and returns whether it was still visible to its tenant (N-08).
DELETE FROM new_device_requests r
WHERE r.tenant = $1
    AND r.id = $2
RETURNING r.credentials_until IS NULL OR r.credentials_until > now()
