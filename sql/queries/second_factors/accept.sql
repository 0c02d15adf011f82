-- Accepts the code of a step of time, unless a code of this step or a later one was accepted already.
UPDATE second_factors
SET last_step = $3,
    tried = 0,
    next_at = now()
WHERE tenant = $1
    AND user_name = $2
    AND active
    AND last_step < $3
