-- Deletes the binary that is about to be replaced. The foreign key deletes its chunks.
DELETE FROM binaries b
USING unnest($1::text[], $2::bigint[], $3::bigint[]) AS new (tenant, object, id)
WHERE b.tenant = new.tenant
    AND b.object = new.object
    AND b.id <> new.id
