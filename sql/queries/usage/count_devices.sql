-- Counts the devices of each tenant.
SELECT tenant, count(*)
FROM managed_objects
WHERE fragment_names @> ARRAY[$1::text]
GROUP BY tenant
