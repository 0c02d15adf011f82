-- Does the same as find.sql and locks the request until the transaction ends.
SELECT r.id, r.status, r.owner, r.created_at, r.group_id, r.number, r.sealed_password
FROM new_device_requests r
WHERE r.tenant = $1
    AND r.id = $2
    AND (r.credentials_until IS NULL OR r.credentials_until > now())
FOR UPDATE
