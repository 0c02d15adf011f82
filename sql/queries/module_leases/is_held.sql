SELECT EXISTS (
    SELECT
    FROM module_leases
    WHERE tenant = $1
        AND fence = $2
)
