-- Stores the keys of the requests of a transaction with their responses, in one order, so that two transactions cannot
-- deadlock. It waits for a transaction that stores one of them, and fails if that commits.
INSERT INTO idempotency_keys (tenant, user_name, key, request, location, response)
SELECT *
FROM unnest($1::text[], $2::text[], $3::text[], $4::bytea[], $5::text[], $6::bytea[])
    AS keyed (tenant, user_name, key, request, location, response)
ORDER BY tenant, user_name, key
