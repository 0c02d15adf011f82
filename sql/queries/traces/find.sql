-- Returns a trace ($2) of a tenant ($1) that runs or has ended at most some seconds ($3) ago.
SELECT t.id, t.device, t.user_name, t.session, t.owner, t.began_at, t.ends_at
FROM traces t
WHERE t.tenant = $1
    AND t.id = $2
    AND t.ends_at > now() - make_interval(secs => $3)
