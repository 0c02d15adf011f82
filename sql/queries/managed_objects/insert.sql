-- Inserts managed objects and begins to watch those that require it (R-01).
WITH new AS (
    SELECT *
    FROM unnest(
        $1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::timestamptz[], $7::text[], $8::smallint[])
        AS new (tenant, id, type, name, owner, created_at, fragments, response_interval)
), stored AS (
    INSERT INTO managed_objects (tenant, id, type, name, owner, created_at, updated_at, fragments)
    SELECT new.tenant, new.id, new.type, new.name, new.owner, new.created_at, new.created_at, new.fragments::jsonb
    FROM new
)
INSERT INTO availability (tenant, device, response_interval, last_message, counted_from)
SELECT new.tenant, new.id, new.response_interval, new.created_at, new.created_at
FROM new
WHERE new.response_interval IS NOT NULL
