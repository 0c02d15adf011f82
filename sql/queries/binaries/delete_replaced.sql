-- The content that is about to be replaced; its chunks go with it by the foreign key.
DELETE FROM binaries b
USING unnest($1::text[], $2::bigint[], $3::bigint[]) AS new (tenant, object, id)
WHERE b.tenant = new.tenant
    AND b.object = new.object
    AND b.id <> new.id
