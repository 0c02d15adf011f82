-- Plans a bulk operation. If it is due soon, the requesting process holds it; otherwise no process works on it until
-- shortly before.
INSERT INTO bulk_operations AS b (
    tenant, id, group_id, failed_parent, start_at, ramp, prototype, status, creator, base, created_at,
    total, chosen, place, vanished, due_at, fence, leased_until)
VALUES (
    $1, nextval('bulk_operation_ids'), $2, $3, $4, $5, $6, 'ACTIVE', $7, $8, now(),
    0, false, 0, 0, greatest($4, now()), 1,
    CASE WHEN $4 < now() + make_interval(secs => $9) THEN now() + make_interval(secs => $9) ELSE '-infinity' END)
RETURNING
    b.tenant, b.id, b.group_id, b.failed_parent, b.ramp, b.prototype, b.base, b.chosen, b.total, b.place, b.fence,
    extract(epoch FROM b.due_at - now())::float8,
    b.leased_until > now()
