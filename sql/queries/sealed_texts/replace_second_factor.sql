-- Replaces the secret of the second factor of a user.
UPDATE second_factors
SET sealed_secret = $3
WHERE tenant = $1
    AND user_name = $2
