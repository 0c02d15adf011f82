-- Stores collections of measurements, each completely or not at all (G-02). $13 is the collection of a row, and $14 is
-- the number of rows of that collection.
WITH found AS MATERIALIZED (
    SELECT new.*
    FROM unnest(
        $1::text[], $2::bigint[], $3::bigint[], $4::timestamptz[], $5::timestamp[], $6::bigint[],
        $7::integer[], $8::integer[], $10::text[], $11::text[], $13::integer[], $14::bigint[])
        AS new (
            tenant, id, source, time, local_time, shape, first, count, verbatim, owner, collection, of)
    JOIN managed_objects o ON o.tenant = new.tenant AND o.id = new.source
    -- The caller, who writes as the owner, still is the owner.
    WHERE coalesce(new.owner, o.owner) = o.owner
    -- The lock keeps the source until the commit, so a deletion of the source finds all of its measurements.
    FOR KEY SHARE OF o
)
INSERT INTO measurements (tenant, id, source, time, local_time, shape, readings, wide_readings, verbatim)
SELECT
    found.tenant, found.id, found.source, found.time, found.local_time, found.shape,
    CASE WHEN found.count <= $12 THEN ($9::float8[])[found.first : found.first + found.count - 1] END,
    CASE WHEN found.count > $12 THEN ($9::float8[])[found.first : found.first + found.count - 1] END,
    found.verbatim::json
FROM (SELECT found.*, count(*) OVER (PARTITION BY collection) AS there FROM found) AS found
WHERE found.there = found.of
RETURNING id
