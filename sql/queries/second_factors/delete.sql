-- Removes the second factor of a user, and returns whether it was active.
DELETE FROM second_factors
WHERE tenant = $1
    AND user_name = $2
RETURNING active
