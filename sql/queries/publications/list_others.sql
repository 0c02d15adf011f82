-- Returns, for each of the tenants ($1) that has rows, whether this server ($2) has one and whether others do.
SELECT tenant, bool_or(server = $2), bool_or(server <> $2)
FROM publication_listeners
WHERE tenant = ANY($1)
GROUP BY tenant
