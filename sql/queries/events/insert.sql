-- Stores the events of one group commit.
WITH new AS (
    SELECT sent.*, o.name AS source_name, o.type AS source_type
    FROM unnest(
        $1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::timestamptz[], $6::smallint[],
        $7::text[], $8::timestamptz[], $9::text[], $10::text[])
        AS sent (tenant, id, source, type, time, time_offset, text, created_at, fragments, owner)
    -- A row whose source does not exist is left out, because a foreign key violation would fail the whole batch.
    JOIN managed_objects o ON o.tenant = sent.tenant AND o.id = sent.source
    -- The caller, who writes as the owner, still is the owner.
    WHERE coalesce(sent.owner, o.owner) = o.owner
), stored AS (
    INSERT INTO events (tenant, id, source, type, time, time_offset, text, created_at, fragments)
    SELECT tenant, id, source, type, time, time_offset, text, created_at, fragments::json
    FROM new
)
SELECT id, source_name, source_type
FROM new
