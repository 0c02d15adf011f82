-- Removes a recovery code, and returns how many are left.
UPDATE second_factors
SET recovery_codes = array_remove(recovery_codes, $3::bytea),
    tried = 0,
    next_at = now()
WHERE tenant = $1
    AND user_name = $2
    AND active
    AND $3 = ANY(recovery_codes)
RETURNING cardinality(recovery_codes)::bigint
