INSERT INTO managed_objects (tenant, id, type, name, owner, created_at, updated_at, fragments)
SELECT new.tenant, new.id, new.type, new.name, new.owner, new.created_at, new.created_at, new.fragments::jsonb
FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::timestamptz[], $7::text[])
    AS new (tenant, id, type, name, owner, created_at, fragments)
