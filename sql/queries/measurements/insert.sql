-- Stores the measurements of one group commit.
INSERT INTO measurements (tenant, id, source, time, local_time, shape, readings, wide_readings, verbatim)
SELECT
    new.tenant, new.id, new.source, new.time, new.local_time, new.shape,
    -- All numbers arrive in one array, and each row takes its slice.
    CASE WHEN new.count <= $12 THEN ($9::float8[])[new.first : new.first + new.count - 1] END,
    CASE WHEN new.count > $12 THEN ($9::float8[])[new.first : new.first + new.count - 1] END,
    new.verbatim::json
FROM unnest(
    $1::text[], $2::bigint[], $3::bigint[], $4::timestamptz[], $5::timestamp[], $6::bigint[],
    $7::integer[], $8::integer[], $10::text[], $11::text[])
    AS new (tenant, id, source, time, local_time, shape, first, count, verbatim, owner)
-- A row whose source does not exist is left out.
JOIN managed_objects o ON o.tenant = new.tenant AND o.id = new.source
-- The caller, who writes as the owner, still is the owner.
WHERE coalesce(new.owner, o.owner) = o.owner
-- The lock keeps the source until the commit, so a deletion of the source finds all of its measurements.
FOR KEY SHARE OF o
RETURNING id
