-- Returns the second factor of a user, active or not.
SELECT f.sealed_secret, f.active, cardinality(f.recovery_codes)::bigint
FROM second_factors f
WHERE f.tenant = $1
    AND f.user_name = $2
