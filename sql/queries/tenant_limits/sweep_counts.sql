-- Deletes the usage of tenants at servers that are gone.
DELETE FROM tenant_counts
WHERE server NOT IN (SELECT incarnation FROM servers WHERE leased_until > now() - interval '1 hour')
