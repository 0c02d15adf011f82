DELETE FROM tenant_limits
WHERE tenant = $1
    AND name = $2
