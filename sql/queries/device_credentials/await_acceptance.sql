-- Notes the first poll (N-01), unless somebody accepted the request meanwhile (N-02).
UPDATE new_device_requests
SET status = 'PENDING_ACCEPTANCE'
WHERE tenant = $1
    AND id = $2
    AND status = 'WAITING_FOR_CONNECTION'
