-- Returns the traces that have not ended, of one tenant ($1) or of all (null), with their tenants.
SELECT t.id, t.device, t.user_name, t.session, t.owner, t.began_at, t.ends_at, t.tenant
FROM traces t
WHERE t.ends_at > now()
    AND ($1::text IS NULL OR t.tenant = $1)
ORDER BY t.tenant, t.id
