-- Replaces the value of a secret option.
UPDATE options
SET value = $4
WHERE tenant = $1
    AND category = $2
    AND key = $3
