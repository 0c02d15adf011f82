-- The tenants among these ($1) that this server ($2) has a row of and no other server has.
SELECT tenant
FROM publication_listeners
WHERE tenant = ANY($1)
GROUP BY tenant
HAVING bool_and(server = $2)
