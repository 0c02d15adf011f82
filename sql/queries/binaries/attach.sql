-- Attaches uploads to managed objects, once each.
UPDATE binaries b
SET object = o.id
FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS new (tenant, object, id)
-- An object that was deleted meanwhile is left out, because a foreign key violation would fail the whole batch.
JOIN managed_objects o ON o.tenant = new.tenant AND o.id = new.object
WHERE b.tenant = new.tenant
    AND b.id = new.id
    AND b.object IS NULL
    AND b.event IS NULL
    AND b.application IS NULL
RETURNING b.id
