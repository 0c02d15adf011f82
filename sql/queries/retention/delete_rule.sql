DELETE FROM retention_rules
WHERE tenant = $1
    AND id = $2
