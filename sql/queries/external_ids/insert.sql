-- Inserts external ids in one order, so that two concurrent statements cannot deadlock.
INSERT INTO external_ids (tenant, type, value, object, created_at)
SELECT $1, given.type, given.value, given.object, now()
FROM unnest($2::text[], $3::text[], $4::bigint[]) AS given (type, value, object)
ORDER BY given.type, given.value
