-- Stores which shapes a source sends.
INSERT INTO source_shapes (tenant, source, shape, first)
SELECT new.tenant, new.source, new.shape, new.first
FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[]) AS new (tenant, source, shape, first)
-- A row whose source does not exist is left out, because a foreign key violation would fail the whole batch.
JOIN managed_objects o ON o.tenant = new.tenant AND o.id = new.source
ON CONFLICT DO NOTHING
