-- Begins a trace ($2) of a tenant ($1) about an object, a user or a session ($3 to $5), by a user ($6), for a number of
-- seconds ($7), and returns it, unless the tenant has as many as it may have ($8).
INSERT INTO traces AS t (tenant, id, device, user_name, session, owner, ends_at)
SELECT $1, $2, $3, $4, $5, $6, now() + make_interval(secs => $7)
WHERE (
    SELECT count(*)
    FROM traces o
    WHERE o.tenant = $1
        AND o.ends_at > now()) < $8
RETURNING t.id, t.device, t.user_name, t.session, t.owner, t.began_at, t.ends_at
