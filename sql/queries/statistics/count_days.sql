SELECT count(*)
FROM tenant_statistics s
WHERE s.tenant = $1
    AND ($2::integer IS NULL OR s.day >= date '1970-01-01' + $2)
    AND ($3::integer IS NULL OR s.day <= date '1970-01-01' + $3)
