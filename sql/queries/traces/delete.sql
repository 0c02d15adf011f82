-- Ends a trace ($2) of a tenant ($1), unless it has ended, and returns it.
DELETE FROM traces AS t
WHERE t.tenant = $1
    AND t.id = $2
    AND t.ends_at > now()
RETURNING t.id, t.device, t.user_name, t.session, t.owner, t.began_at, t.ends_at
