UPDATE retention_rules
SET
    data_type = $3,
    fragment_type = $4,
    type = $5,
    source = $6,
    maximum_age = $7,
    changed_at = now()
WHERE tenant = $1
    AND id = $2
