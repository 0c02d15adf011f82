-- Takes over bulk operations of all tenants that are due soon and that no process holds. One that is being changed or
-- has a step in progress is skipped.
UPDATE bulk_operations b
SET
    fence = b.fence + 1,
    leased_until = now() + make_interval(secs => $1)
FROM (
    SELECT tenant, id
    FROM bulk_operations
    WHERE status = 'ACTIVE'
        AND due_at < now() + make_interval(secs => $1)
        AND leased_until < now()
    ORDER BY due_at
    LIMIT $2
    FOR UPDATE SKIP LOCKED
) abandoned
WHERE b.tenant = abandoned.tenant
    AND b.id = abandoned.id
RETURNING
    b.tenant, b.id, b.group_id, b.failed_parent, b.ramp, b.prototype, b.base, b.chosen, b.total, b.place, b.fence,
    extract(epoch FROM b.due_at - now())::float8,
    b.leased_until > now()
