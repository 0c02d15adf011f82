-- Returns the stored options of a tenant in a category.
SELECT o.key, o.value
FROM options o
WHERE o.tenant = $1
    AND o.category = $2
ORDER BY o.key COLLATE "C"
