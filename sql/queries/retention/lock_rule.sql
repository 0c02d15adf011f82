SELECT id, data_type, fragment_type, type, source, maximum_age
FROM retention_rules
WHERE tenant = $1
    AND id = $2
FOR UPDATE
