-- Plans a bulk operation again that has not started (K-08). Its row is locked. Its holder makes no further step.
UPDATE bulk_operations b
SET
    start_at = $3,
    ramp = $4,
    prototype = $5,
    total = 0,
    chosen = false,
    place = 0,
    vanished = 0,
    due_at = greatest($3, now()),
    fence = b.fence + 1,
    leased_until =
        CASE WHEN $3 < now() + make_interval(secs => $6) THEN now() + make_interval(secs => $6) ELSE '-infinity' END
WHERE b.tenant = $1
    AND b.id = $2
RETURNING
    b.tenant, b.id, b.group_id, b.failed_parent, b.ramp, b.prototype, b.base, b.chosen, b.total, b.place, b.fence,
    extract(epoch FROM b.due_at - now())::float8,
    b.leased_until > now()
