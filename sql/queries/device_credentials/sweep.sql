-- Of all tenants: what nobody can collect any more.
DELETE FROM new_device_requests
WHERE credentials_until <= now()
