-- Fails if another server ($2 is this one) has joined one of the tenants ($1).
SELECT refuse_unshared_batch(tenant)
FROM publication_listeners
WHERE tenant = ANY($1)
    AND server <> $2
LIMIT 1
