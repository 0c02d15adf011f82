-- Stores which statements of a module are switched off.
UPDATE modules
SET switched_off = $3
WHERE tenant = $1
    AND id = $2
