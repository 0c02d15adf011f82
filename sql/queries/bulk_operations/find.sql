SELECT b.id, b.group_id, b.failed_parent, b.start_at, b.ramp, b.prototype, b.status, b.total, b.vanished
FROM bulk_operations b
WHERE b.tenant = $1
    AND b.id = $2
