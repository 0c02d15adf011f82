-- Fails if another server hears or writes one of the tenants ($1). $2 is this server.
SELECT refuse_unshared_batch(tenant)
FROM publication_listeners
WHERE tenant = ANY($1)
    AND server <> $2
LIMIT 1
