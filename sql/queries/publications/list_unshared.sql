-- Returns those of the tenants ($1) that this server ($2) has joined and no other server has.
SELECT tenant
FROM publication_listeners
WHERE tenant = ANY($1)
GROUP BY tenant
HAVING bool_and(server = $2)
