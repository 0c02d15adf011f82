-- Returns the rules that a run applies.
SELECT id, data_type, fragment_type, type, source, maximum_age
FROM retention_rules
WHERE tenant = $1
    AND changed_at < $2
ORDER BY id
