-- What a tenant set in a category, as it is stored.
SELECT o.key, o.value
FROM options o
WHERE o.tenant = $1
    AND o.category = $2
ORDER BY o.key COLLATE "C"
