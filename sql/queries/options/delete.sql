DELETE FROM options o
USING unnest($2::text[], $3::text[]) AS gone (category, key)
WHERE o.tenant = $1
    AND o.category = gone.category
    AND o.key = gone.key
