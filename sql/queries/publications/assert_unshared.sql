-- Fails if another server ($2 is this one) has joined one of the tenants ($1), or if one of them has a journal.
SELECT refuse_unshared_batch(tenant)
FROM publication_listeners
WHERE tenant = ANY($1)
    AND server <> $2
UNION ALL
SELECT refuse_unshared_batch(tenant)
FROM journals
WHERE tenant = ANY($1)
    AND is_written
LIMIT 1
