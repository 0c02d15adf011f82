-- Locks options that will be written until the transaction ends, in one order, so that writers cannot deadlock.
SELECT o.category, o.key, o.editable, o.value
FROM options o
JOIN unnest($2::text[], $3::text[]) AS wanted (category, key)
    ON wanted.category = o.category
    AND wanted.key = o.key
WHERE o.tenant = $1
ORDER BY o.category, o.key
FOR UPDATE OF o
