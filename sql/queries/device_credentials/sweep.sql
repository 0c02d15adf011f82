-- Deletes requests of all tenants whose credentials can no longer be collected.
DELETE FROM new_device_requests
WHERE credentials_until <= now()
