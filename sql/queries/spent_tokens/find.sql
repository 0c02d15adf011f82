SELECT 1
FROM spent_tokens
WHERE tenant = $1
    AND hash = $2
