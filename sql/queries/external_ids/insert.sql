-- In one order, so that two that name objects by the same ids wait for each other in it.
INSERT INTO external_ids (tenant, type, value, object, created_at)
SELECT $1, given.type, given.value, given.object, now()
FROM unnest($2::text[], $3::text[], $4::bigint[]) AS given (type, value, object)
ORDER BY given.type, given.value
