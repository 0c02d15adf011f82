SELECT id, device, bulk_operation, created_at, status, failure_reason, revision, fragments
FROM operations
WHERE tenant = $1
    AND id = $2
