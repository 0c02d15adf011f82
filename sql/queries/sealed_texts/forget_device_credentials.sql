-- Deletes the requests whose devices could collect their passwords once more.
DELETE FROM new_device_requests
WHERE sealed_password IS NOT NULL
