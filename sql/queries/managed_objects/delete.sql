-- Alarms go with their source by the foreign key.
DELETE FROM managed_objects o
USING unnest($1::text[], $2::bigint[]) AS gone (tenant, id)
WHERE o.tenant = gone.tenant
    AND o.id = gone.id
RETURNING o.id
