-- Deletes requests of all tenants whose credentials can no longer be collected, and whose devices have
-- their certificate.
DELETE FROM new_device_requests
WHERE credentials_until <= now()
    OR enrolled_until <= now()
