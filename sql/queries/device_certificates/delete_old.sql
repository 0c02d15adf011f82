-- Deletes certificates that have been invalid for 90 days.
DELETE FROM device_certificates
WHERE not_after < now() - interval '90 days'
