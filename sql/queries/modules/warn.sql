-- Stores the warnings about likely slips in the text of a module.
UPDATE modules
SET warnings = $3
WHERE tenant = $1
    AND id = $2
