-- Activates a secret unless another one replaced it meanwhile. The code that confirmed it, of the step $4, counts as
-- used.
UPDATE second_factors
SET active = true,
    last_step = $4,
    recovery_codes = $5
WHERE tenant = $1
    AND user_name = $2
    AND sealed_secret = $3
    AND NOT active
